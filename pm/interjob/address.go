package interjob

import (
	"encoding/binary"
	"errors"
	"net/netip"
)

// KeyBytes is the length of an address's secret in bytes.
const KeyBytes = 16

// AddressBytes is the length of an encoded address in bytes: job, rank, host, port and secret.
const AddressBytes = 8 + 4 + 16 + 2 + KeyBytes

// ErrAddress means that the bytes are no address, or that the address cannot be reached.
var ErrAddress = errors.New("interjob: no address of a rank of another job")

// Address is where ranks of other jobs reach a rank. The zero Address is nowhere.
type Address struct {
	Job  uint64
	Rank uint32
	At   netip.AddrPort
	Key  [KeyBytes]byte
}

// Encode returns the address in a form of fixed length.
func (a Address) Encode() (b [AddressBytes]byte) {
	binary.LittleEndian.PutUint64(b[0:], a.Job)
	binary.LittleEndian.PutUint32(b[8:], a.Rank)
	if a.At.IsValid() {
		host := a.At.Addr().As16()
		copy(b[12:], host[:])
	}
	binary.LittleEndian.PutUint16(b[28:], a.At.Port())
	copy(b[30:], a.Key[:])
	return b
}

// ParseAddress is the inverse of Encode. The error is ErrAddress; job and rank are set also of an
// address at which nobody can be reached.
func ParseAddress(b []byte) (a Address, err error) {
	if len(b) < AddressBytes {
		return Address{}, ErrAddress
	}
	a = Address{Job: binary.LittleEndian.Uint64(b), Rank: binary.LittleEndian.Uint32(b[8:]), Key: [KeyBytes]byte(b[30:])}
	host, port := netip.AddrFrom16([16]byte(b[12:])).Unmap(), binary.LittleEndian.Uint16(b[28:])
	if port == 0 || host.IsUnspecified() || host.IsMulticast() {
		return a, ErrAddress
	}
	a.At = netip.AddrPortFrom(host, port)
	return a, nil
}
