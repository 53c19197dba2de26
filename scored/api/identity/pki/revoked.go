package pki

import (
	"math/big"
	"sync/atomic"
)

// MaxRevoked bounds the list: the certificates of a large cluster, all of them. Those that expired
// need not stay on it.
const MaxRevoked = 1 << 16

// revoked holds the serial numbers, in decimal, of revoked certificates. It may be
// read and replaced concurrently; the zero value is empty.
type revoked struct {
	serials atomic.Pointer[map[string]struct{}]
}

func (r *revoked) replace(serials [][]byte) {
	set := make(map[string]struct{}, min(len(serials), MaxRevoked))
	for _, s := range serials {
		if len(set) == MaxRevoked {
			break
		}
		set[decimal(s)] = struct{}{}
	}
	r.serials.Store(&set)
}

func (r *revoked) has(serial string) bool {
	set := r.serials.Load()
	if set == nil {
		return false
	}
	_, ok := (*set)[serial]
	return ok
}

// decimal returns a serial number, given as big-endian bytes, in decimal.
func decimal(serial []byte) string { return new(big.Int).SetBytes(serial).String() }
