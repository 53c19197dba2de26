package channels

import (
	"bytes"
	"errors"
	"os/exec"
	"score/channels/abi"
	"score/channels/procstat"
	"score/channels/release"
	"score/tests/await"
	"sync/atomic"
	"testing"
	"time"
)

// deadProcess returns a process that ended and was waited for.
func deadProcess(t *testing.T) Process {
	t.Helper()
	cmd := exec.Command("sleep", "60")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	p := processOf(t, cmd.Process.Pid)
	if p.Dead() {
		t.Fatal("a living process is called dead")
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	if !p.Dead() {
		t.Fatal("a dead process is called living")
	}
	return p
}

func processOf(t *testing.T, pid int) Process {
	t.Helper()
	me, err := Self()
	if err != nil {
		t.Fatal(err)
	}
	stat, err := procstat.Read(pid)
	if err != nil {
		t.Fatal(err)
	}
	return Process{Pid: uint32(pid), Start: stat.Start, Space: me.Space}
}

// possess makes a process the writer for a rank.
func possess(img *Image, rank uint32, p Process) {
	at := img.layout.Peer(rank)
	atomic.StoreUint64(img.mem.u64(at+8), p.Start)
	atomic.StoreUint64(img.mem.u64(at+16), p.Space)
	atomic.StoreUint32(img.mem.u32(at), p.Pid)
}

func TestZombieIsDead(t *testing.T) {
	cmd := exec.Command("sleep", "60")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	p := processOf(t, cmd.Process.Pid)
	_ = cmd.Process.Kill()
	await.That(t, "the killed process is dead", p.Dead)
	_ = cmd.Wait()
}

func TestDeadOnlyIfSure(t *testing.T) {
	me, err := Self()
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		p    Process
		dead bool
	}{
		"self":            {me, false},
		"other start":     {Process{me.Pid, me.Start + 1, me.Space}, true},
		"other namespace": {Process{me.Pid, me.Start + 1, me.Space + 1}, false},
		"nobody":          {Process{}, false},
		"absurd":          {Process{Pid: 1<<32 - 1, Space: me.Space}, false},
	} {
		if got := c.p.Dead(); got != c.dead {
			t.Errorf("%s: dead is %v", name, got)
		}
	}
}

// patience bounds every wait of these tests for what must come.
const patience = 60 * time.Second

// pollFor polls until ok, for as long as patience lasts.
func pollFor(in *Inbox, ok func() bool) bool {
	for end := time.Now().Add(patience); time.Now().Before(end); {
		in.Poll()
		if ok() {
			return true
		}
	}
	return false
}

// TestWriterDiedBetweenReserveAndCommit: others wrote behind it; its record is
// dropped, theirs arrive.
func TestWriterDiedBetweenReserveAndCommit(t *testing.T) {
	img := newImage(t, 40, abi.Geometry{}) // more ranks than lanes: all use the shared ring
	in, err := img.Inbox(nil)
	if err != nil {
		t.Fatal(err)
	}
	victim, _ := img.Sender(5)
	other, _ := img.Sender(6)
	if _, ok := victim.shared.reserve(500); !ok {
		t.Fatal("no space")
	}
	if err := other.Send([]byte("behind")); err != nil {
		t.Fatal(err)
	}
	for start := time.Now(); !in.Stuck() || time.Since(start) < 3*stuckAfter; {
		if _, ok := in.Poll(); ok {
			t.Fatal("overtook a writer that lives")
		}
	}
	possess(img, 5, deadProcess(t))
	var m Message
	if !pollFor(in, func() bool { return img.Counter(abi.Voided) == 1 }) {
		t.Fatal("the dead writer's record still blocks")
	}
	m = mustPoll(t, in)
	if m.Rank() != 6 || string(m.Head()) != "behind" {
		t.Fatalf("rank %d: %q", m.Rank(), m.Head())
	}
	if err := in.Release(m); err != nil {
		t.Fatal(err)
	}
}

// TestMarkedDead: in another pid namespace only the agent knows.
func TestMarkedDead(t *testing.T) {
	img := newImage(t, 40, abi.Geometry{})
	in, _ := img.Inbox(nil)
	victim, _ := img.Sender(5)
	if _, ok := victim.shared.reserve(1); !ok {
		t.Fatal("no space")
	}
	if err := img.MarkPeerGone(5); err != nil {
		t.Fatal(err)
	}
	if !pollFor(in, func() bool { return img.Counter(abi.Voided) == 1 }) {
		t.Fatal("the marked writer's record still blocks")
	}
	if rank, ok := in.Gone(); !ok || rank != 5 {
		t.Fatalf("gone: %d %v", rank, ok)
	}
	if _, ok := in.Gone(); ok {
		t.Fatal("told twice")
	}
	if err := img.MarkPeerGone(40); !errors.Is(err, ErrRank) {
		t.Fatal(err)
	}
}

// TestWriterDiedWithTheTail: at each point of a reservation the next writer
// goes on as if it had never begun.
func TestWriterDiedWithTheTail(t *testing.T) {
	dead := deadProcess(t)
	for _, written := range []string{"nothing", "record", "pad"} {
		img := newImage(t, 40, abi.Geometry{})
		in, _ := img.Inbox(nil)
		victim, _ := img.Sender(5)
		other, _ := img.Sender(6)
		if written == "pad" { // bring the tail near the end of the ring
			for victim.shared.left(*victim.shared.tail>>tailShift) > 10 {
				if err := other.Send(make([]byte, 500)); err != nil {
					t.Fatal(err)
				}
				if err := in.Release(mustPoll(t, in)); err != nil {
					t.Fatal(err)
				}
				other.sharedCount = 0 // stay in the shared ring
			}
		}
		pos, ok := victim.shared.lock()
		if !ok {
			t.Fatal("no lock")
		}
		switch written {
		case "record":
			release.Store64(victim.shared.commit(pos+8), 0)
			release.Store64(victim.shared.commit(pos), abi.Commit(450, abi.KindReserved, 5))
		case "pad":
			release.Store64(victim.shared.commit(pos), abi.Commit(0, abi.KindPad, 5))
		}
		if _, ok := in.Poll(); ok || in.rings[0].cursor != pos {
			t.Fatalf("%s: the reader believed a record beyond the tail", written)
		}
		if err := other.Send([]byte("x")); !errors.Is(err, ErrFull) {
			t.Fatalf("%s: the holder lives, yet: %v", written, err)
		}
		possess(img, 5, dead)
		want := text(1, 700)
		if err := other.Send(want); err != nil {
			t.Fatalf("%s: the holder is dead: %v", written, err)
		}
		if m := mustPoll(t, in); m.Rank() != 6 || !bytes.Equal(m.Head(), want) {
			t.Fatalf("%s: rank %d, %d bytes", written, m.Rank(), m.Len())
		}
	}
}

// TestWriterDiedInLongMessage: the reader has the head and waits for the tail.
func TestWriterDiedInLongMessage(t *testing.T) {
	for _, overlap := range []bool{true, false} {
		in, out := newPair(t, 2, abi.Geometry{})
		in.SetOverlap(overlap)
		if err := out.Send(nil); err != nil {
			t.Fatal(err)
		}
		if err := in.Release(mustPoll(t, in)); err != nil {
			t.Fatal(err)
		}
		if !out.lane.fits(200) {
			t.Fatal("no space")
		}
		out.commitAt(out.lane.tail, 10000, abi.KindGrowing, 4096)
		possess(in.img, 1, deadProcess(t))
		if !overlap {
			if !pollFor(in, func() bool { return in.img.Counter(abi.Voided) == 1 }) {
				t.Fatal("still waits")
			}
			continue
		}
		m := mustPoll(t, in)
		await.That(t, "the tail is lost", func() bool { return in.Lost(m) })
		await.That(t, "the message is released", func() bool { return in.Release(m) == nil })
	}
}
