package pki

import (
	"math/big"
	"sync/atomic"
)

// MaxRevoked bounds the list: the certificates of a large cluster, all of them. Those that expired
// need not stay on it.
const MaxRevoked = 1 << 16

// Revoked holds the serial numbers of certificates that were taken back. It may be read and replaced
// at once; the zero value is empty.
type Revoked struct {
	serials atomic.Pointer[map[string]struct{}]
}

// Replace sets what is revoked, serial numbers as bytes, big-endian. What is beyond MaxRevoked is left out.
func (r *Revoked) Replace(serials [][]byte) {
	set := make(map[string]struct{}, min(len(serials), MaxRevoked))
	for _, s := range serials {
		if len(set) == MaxRevoked {
			break
		}
		set[new(big.Int).SetBytes(s).String()] = struct{}{}
	}
	r.serials.Store(&set)
}

// Has tells whether the certificate of a serial number, as bytes, big-endian, was taken back.
func (r *Revoked) Has(serial []byte) bool { return r.has(new(big.Int).SetBytes(serial)) }

func (r *Revoked) has(serial *big.Int) bool {
	set := r.serials.Load()
	if set == nil {
		return false
	}
	_, ok := (*set)[serial.String()]
	return ok
}

// Count is how many there are.
func (r *Revoked) Count() int {
	set := r.serials.Load()
	if set == nil {
		return 0
	}
	return len(*set)
}
