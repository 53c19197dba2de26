package channels

import (
	"errors"
	"os"
	"score/channels/abi"
	"sync/atomic"
	"testing"
)

// TestOneProcessOwnsAnImage: a process gets an image that nobody uses, and no image that another
// living process has open.
func TestOneProcessOwnsAnImage(t *testing.T) {
	me, err := Self()
	if err != nil {
		t.Fatal(err)
	}
	alive := processOf(t, os.Getppid()) // lives as long as this test
	elsewhere := alive
	elsewhere.Space++
	for _, c := range []struct {
		name  string
		owner Process
		state uint32
		free  bool
	}{
		{"nobody's", Process{}, abi.StateOpen, true},
		{"its own, after exec", me, abi.StateOpen, true},
		{"a living one's", alive, abi.StateOpen, false},
		{"a living one's, closed", alive, abi.StateClosed, true},
		{"a dead one's", deadProcess(t), abi.StateOpen, true},
		{"one's of another pid namespace", elsewhere, abi.StateOpen, true},
	} {
		img := newImage(t, 2, abi.Geometry{})
		img.SetOwner(abi.RoleProcess, c.owner)
		img.SetState(c.state)
		err := img.Own(me)
		if c.free && (err != nil || img.Owner(abi.RoleProcess) != me) {
			t.Errorf("%s: %v; the owner is %+v", c.name, err, img.Owner(abi.RoleProcess))
		}
		if !c.free && (!errors.Is(err, ErrOwned) || img.Owner(abi.RoleProcess) != c.owner) {
			t.Errorf("%s: %v; the owner is %+v", c.name, err, img.Owner(abi.RoleProcess))
		}
	}

	img := newImage(t, 2, abi.Geometry{})
	atomic.StoreUint32(img.mem.u32(img.ownerAt(abi.RoleProcess)), ownerChanging|7)
	if owner := img.Owner(abi.RoleProcess); owner != (Process{}) {
		t.Errorf("half written: %+v", owner)
	}
	if err := img.Own(me); !errors.Is(err, ErrOwned) {
		t.Errorf("another one is at it: %v", err)
	}
}
