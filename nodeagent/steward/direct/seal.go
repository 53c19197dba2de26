package direct

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
)

const (
	// KeySize is the length of a job's key, in bytes: AES-256 and HMAC-SHA-256 have no use for
	// more.
	KeySize = sha256.Size
	// MaxDatagram bounds a datagram, in bytes: six Ethernet packets. Longer messages go through the
	// agents, since TCP repeats only the lost part of a message.
	MaxDatagram = 8 << 10
	// MaxData is the largest data of a packet that fits into a datagram.
	MaxData = MaxDatagram - headerSize - tagSize - maxHeaderSize
	// maxHeaderSize is the largest size of flags and numbers.
	maxHeaderSize = 1 + 6*binary.MaxVarintLen64
	tagSize       = 16
)

// A datagram begins with its sender, and with the salt and counter for its key and nonce:
//
//	datagram := version from[4] salt[16] counter[8] sealed
//
// Each sender derives a key of its own from the job's key, its place in the job and a random salt.
// So no two stewards ever seal datagrams with the same key and nonce, even if a job's number and
// attempt come again after the cluster was restored from a backup. The receiver is authenticated
// too, so that nobody can redirect a datagram.
const (
	version     = 1
	saltSize    = len(Salt{})
	fromAt      = 1
	saltAt      = fromAt + 4
	counterAt   = saltAt + saltSize
	headerSize  = counterAt + 8
	nonceSize   = 12
	headAndTo   = headerSize + 4
	jobLabel    = "score steward: key of a job, 1"
	senderLabel = "score steward: key of a sender, 1"
)

// Salt is 16 random bytes, drawn for each steward and job, from which the key of its datagrams is
// derived.
type Salt [16]byte

// JobKey returns the key of the stewards of one attempt of a job.
func JobKey(clusterKey, cluster string, job uint64, attempt uint32) []byte {
	mac := hmac.New(sha256.New, []byte(clusterKey))
	mac.Write([]byte(jobLabel)) // a hash never fails
	mac.Write([]byte{0})
	mac.Write([]byte(cluster))
	mac.Write([]byte{0})
	mac.Write(binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint64(nil, job), attempt))
	return mac.Sum(nil)
}

// sealer makes and opens datagrams.
type sealer struct {
	key     []byte
	own     cipher.AEAD
	counter uint64
	header  [headAndTo]byte // of this steward's datagrams; the receiver comes last
	theirs  map[uint32]*sender
	// nonce, opened and plain are reused for each datagram.
	nonce  [nonceSize]byte
	opened [headAndTo]byte
	plain  []byte
}

// sender is another steward whose salt is authentic: it has sent a valid datagram.
type sender struct {
	salt Salt
	aead cipher.AEAD
}

// newSealer returns an error if the key does not have KeySize bytes.
func newSealer(key []byte, self uint32, salt Salt) (*sealer, error) {
	if len(key) != KeySize {
		return nil, fmt.Errorf("a key of %d bytes, not of %d", len(key), KeySize)
	}
	s := &sealer{key: key, theirs: make(map[uint32]*sender)}
	s.header[0] = version
	binary.BigEndian.PutUint32(s.header[fromAt:], self)
	copy(s.header[saltAt:], salt[:])
	s.own = s.aead(self, s.header[saltAt:saltAt+saltSize])
	return s, nil
}

// aead returns the cipher of a steward with this place and salt.
func (s *sealer) aead(from uint32, salt []byte) cipher.AEAD {
	mac := hmac.New(sha256.New, s.key)
	mac.Write([]byte(senderLabel))
	mac.Write(binary.BigEndian.AppendUint32([]byte{0}, from))
	mac.Write(salt)
	block, err := aes.NewCipher(mac.Sum(nil))
	if err != nil {
		panic(err) // of a wrong key size, and this one is constant
	}
	aead, err := cipher.NewGCM(block)
	if err != nil {
		panic(err) // of a wrong block size, and AES has one
	}
	return aead
}

// seal appends the datagram of a packet to another node.
func (s *sealer) seal(dst []byte, to uint32, p *Packet) []byte {
	s.counter++
	binary.BigEndian.PutUint64(s.header[counterAt:], s.counter)
	binary.BigEndian.PutUint32(s.header[headerSize:], to)
	binary.BigEndian.PutUint64(s.nonce[nonceSize-8:], s.counter)
	s.plain = p.append(s.plain[:0])
	dst = append(dst, s.header[:headerSize]...)
	return s.own.Seal(dst, s.nonce[:], s.plain, s.header[:])
}

// open opens a datagram to this steward in place.
func (s *sealer) open(self uint32, datagram []byte) (text []byte, from uint32, err error) {
	if len(datagram) < headerSize+tagSize || datagram[0] != version {
		return nil, 0, ErrPacket
	}
	from = binary.BigEndian.Uint32(datagram[fromAt:])
	salt := datagram[saltAt : saltAt+saltSize]
	known := s.theirs[from]
	if known != nil && Salt(salt) != known.salt {
		return nil, 0, ErrPacket // a node has one steward in an attempt
	}
	var aead cipher.AEAD
	if known != nil {
		aead = known.aead
	} else {
		aead = s.aead(from, salt)
	}
	copy(s.opened[:], datagram[:headerSize])
	binary.BigEndian.PutUint32(s.opened[headerSize:], self)
	copy(s.nonce[nonceSize-8:], datagram[counterAt:headerSize])
	sealed := datagram[headerSize:]
	text, err = aead.Open(sealed[:0], s.nonce[:], sealed, s.opened[:])
	if err != nil {
		return nil, 0, ErrPacket
	}
	if known == nil {
		s.theirs[from] = &sender{salt: Salt(salt), aead: aead}
	}
	return text, from, nil
}
