package node

import (
	"errors"
	"os"
	"score/channels/abi"
	"score/channels/handover"
	"score/channels/link"
	"sync"
	"testing"

	"golang.org/x/sys/unix"
)

// keeper keeps the descriptors of contexts, as a steward does.
type keeper struct {
	mu   sync.Mutex
	kept []Spare
}

func (k *keeper) keep(s Spare) (err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if s.Image, err = duplicate(s.Image); err == nil {
		s.Socket, err = duplicate(s.Socket)
	}
	k.kept = append(k.kept, s)
	return err
}

func duplicate(file *os.File) (*os.File, error) {
	raw, err := file.SyscallConn()
	if err != nil {
		return nil, err
	}
	var fd int
	if failed := raw.Control(func(old uintptr) { fd, err = unix.FcntlInt(old, unix.F_DUPFD_CLOEXEC, 0) }); failed != nil {
		return nil, failed
	}
	return os.NewFile(uintptr(fd), file.Name()), err
}

// TestFlowIsKept: an agent that was started again finds the flow control of each context, and ranks
// with another one are refused as before.
func TestFlowIsKept(t *testing.T) {
	var k keeper
	c := newCluster(t, 2, Config{})
	config := JobConfig{Key: testKey + 1, Places: mapOf(t, 0, c.directories(testKey+1)), Keep: k.keep}
	before, err := c.nodes[0].Add(config)
	if err != nil {
		t.Fatal(err)
	}
	for channel, flow := range map[uint32]uint32{1: abi.FlowCredits, 2: abi.FlowNack} {
		if _, status := before.serveImage(0, handover.Request{Channel: channel, Rank: handover.Own, Flow: flow}); status != handover.StatusOK {
			t.Fatalf("channel %d: status %d", channel, status)
		}
	}
	if err := before.Remove(0); err != nil {
		t.Fatal(err)
	}
	config.Kept, config.Keep = k.kept, nil
	second, err := Open(Config{Address: loopback, Link: c.nodes[0].config.Link})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := second.Close(); err != nil {
			t.Error(err)
		}
	})
	after, err := second.Add(config)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		channel, flow uint32
		want          handover.Status
	}{
		{1, abi.FlowCredits, handover.StatusOK},
		{1, abi.FlowNack, handover.StatusFlow},
		{2, abi.FlowNack, handover.StatusOK},
		{2, abi.FlowCredits, handover.StatusFlow},
	} {
		if _, status := after.serveImage(0, handover.Request{Channel: tt.channel, Rank: handover.Own, Flow: tt.flow}); status != tt.want {
			t.Errorf("channel %d with flow control %d: status %d, want %d", tt.channel, tt.flow, status, tt.want)
		}
	}
}

// TestAskedWithCredits: a rank of another node that asks where a context is has it made for its own
// flow control; a job too large for that is not there yet, until its rank has heard why.
func TestAskedWithCredits(t *testing.T) {
	c := newCluster(t, 2, Config{Geometry: abi.Geometry{LaneBytes: 1 << 18}})
	if status, _ := c.jobs[1].portOf(name{1, 1}, abi.FlowCredits); status != link.StatusHere {
		t.Fatalf("status %d", status)
	}
	img, err := c.jobs[1].Image(1, 1)
	if err != nil {
		t.Fatal(err)
	}
	if g := img.Geometry(); g.Flow != abi.FlowCredits || g.MaxMessage != abi.MaxCreditMessage {
		t.Errorf("%+v", g)
	}
	j := c.jobs[1]
	j.geometry.Ranks = img.Geometry().Places() + 2
	if status, _ := j.portOf(name{2, 1}, abi.FlowCredits); status != link.StatusNotYet {
		t.Errorf("status %d of a context that cannot be", status)
	}
	if _, status := j.serveImage(1, handover.Request{Channel: 2, Rank: handover.Own, Flow: abi.FlowCredits}); status != handover.StatusPlaces {
		t.Errorf("status %d for the rank", status)
	}
	if _, err := j.context(name{2, 1}, abi.FlowCredits); !errors.Is(err, abi.ErrGeometry) {
		t.Error(err)
	}
}
