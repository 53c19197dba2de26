package ofi_test

import (
	"errors"
	"score/pm"
	"score/pm/ofi"
	"score/pm/tag"
	"score/pm/uct"
	"testing"
)

// TestErrno pins the numbers that libraries compare with, of Linux and of fi_errno.h.
func TestErrno(t *testing.T) {
	for err, want := range map[error]uint64{
		nil:                    0,
		ofi.ErrAgain:           11,
		tag.ErrTruncated:       265, // FI_ETRUNC
		uct.ErrKeyInUse:        266, // FI_ENOKEY, which is not Linux's ENOKEY
		uct.ErrKey:             266,
		tag.ErrCanceled:        125,
		ofi.ErrNoMessage:       42,
		uct.ErrAccess:          13,
		pm.ErrPeerGone:         104,
		errors.New("an error"): 5,
	} {
		if got := ofi.Errno(err); got != want {
			t.Errorf("%v: %d, want %d", err, got, want)
		}
	}
}
