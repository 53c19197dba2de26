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
	// MaxDatagram bounds a datagram, in bytes: six packets of an Ethernet. What is longer goes by
	// the agents, whose connections repeat what a network drops of it.
	MaxDatagram = 8 << 10
	// MaxData is the most data of a packet that fits.
	MaxData = MaxDatagram - headerSize - tagSize - maxEnvelope
	// maxEnvelope is what flags and numbers take at most.
	maxEnvelope = 1 + 6*binary.MaxVarintLen64
	tagSize     = 16
)

// A datagram begins with its sender, and with the salt and counter for its key and nonce:
//
//	datagram := version from[4] salt[16] counter[8] sealed
//
// Each sender has a key of its own, from the job's, its place in the job and a random salt, so that
// no two stewards ever seal two datagrams with the same key and nonce, though a job's number and
// attempt may come again, after the cluster was set back to a backup. The receiver is sealed with
// it, so that nobody can redirect it.
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

// Salt is 16 random bytes, drawn for each steward and job: part of what its datagrams' key is made of.
type Salt [16]byte

// JobKey is the key of the stewards of one attempt of a job.
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
	header  [headAndTo]byte // of this steward's datagrams; the last bytes are the receiver
	theirs  map[uint32]*sender
	// nonce, opened and plain are reused for each datagram.
	nonce  [nonceSize]byte
	opened [headAndTo]byte
	plain  []byte
}

// sender is another steward, whose salt has been proved.
type sender struct {
	salt Salt
	aead cipher.AEAD
}

// newSealer fails if the key has not KeySize bytes.
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

// open opens a datagram to this steward, in its place.
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
	aead := cipher.AEAD(nil)
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
