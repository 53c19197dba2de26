package terminal

import (
	"errors"
	"testing"

	"golang.org/x/sys/unix"
)

// A user whose host has no pseudoterminal left does not read of a full device.
func TestNoPseudoterminalIsLeft(t *testing.T) {
	if err := explain(unix.ENOSPC); !errors.Is(err, ErrNone) {
		t.Error(err)
	}
	if err := explain(unix.EMFILE); !errors.Is(err, unix.EMFILE) {
		t.Error(err)
	}
}
