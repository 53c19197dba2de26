package channels

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"score/channels/abi"
	"sync/atomic"
	"testing"

	"golang.org/x/sys/unix"
)

// talk sends messages until the sender has a lane.
func talk(t *testing.T, in *Inbox, s *Sender) {
	t.Helper()
	for range 2 * laneAfter {
		if s.open {
			return
		}
		if err := s.Send([]byte("talk")); err != nil {
			t.Fatal(err)
		}
		if err := in.Release(mustPoll(t, in)); err != nil {
			t.Fatal(err)
		}
	}
	if !s.open {
		t.Fatalf("rank %d has no lane", s.rank)
	}
}

// TestSilentLaneMovesOn: with one lane, the sender that talks gets the lane of the one that does
// not; one that talks keeps it.
func TestSilentLaneMovesOn(t *testing.T) {
	img := heapImage(t, 3, abi.Geometry{Lanes: 2})
	var asked []uint32
	in, err := img.InboxWithin(nil, nil, func(rank uint32) { asked = append(asked, rank) })
	if err != nil {
		t.Fatal(err)
	}
	in.lanes.checkedAt = math.MaxInt64
	first, _ := img.Sender(1)
	second, _ := img.Sender(2)
	talk(t, in, first)
	for range laneAfter + 1 {
		if err := second.Send(nil); err != nil {
			t.Fatal(err)
		}
		if err := in.Release(mustPoll(t, in)); err != nil {
			t.Fatal(err)
		}
	}
	if second.open || img.Counter(abi.LanesWanted) != 1 {
		t.Fatalf("open %v, wanted %d times", second.open, img.Counter(abi.LanesWanted))
	}
	for range 3 { // it talks between looks
		for range silentChecks - 1 {
			in.checkLanes()
		}
		if err := first.Send(nil); err != nil {
			t.Fatal(err)
		}
		if err := in.Release(mustPoll(t, in)); err != nil {
			t.Fatal(err)
		}
		in.checkLanes()
	}
	if len(asked) != 0 || first.Recalled() {
		t.Fatalf("a lane in use was asked back: %v", asked)
	}
	for range silentChecks {
		in.checkLanes()
	}
	if len(asked) != 1 || asked[0] != 1 || !first.Recalled() {
		t.Fatalf("asked %v, recalled %v", asked, first.Recalled())
	}
	if buf, err := first.Reserve(1); err != nil || len(buf) != 1 || first.GiveBack() {
		t.Fatalf("gave a lane back in which a message is reserved: %v", err)
	}
	first.Abandon()
	if !first.GiveBack() {
		t.Fatal("cannot be given back")
	}
	in.Poll()
	talk(t, in, second)
	if n := img.Counter(abi.LanesGivenBack); n != 1 || img.Counter(abi.LanesOpened) != 2 {
		t.Fatalf("%d lanes given back", n)
	}
}

// TestWishIsForgotten: where all lanes are busy, looks end; the sender asks again later.
func TestWishIsForgotten(t *testing.T) {
	img := heapImage(t, 3, abi.Geometry{Lanes: 2})
	in, _ := img.Inbox(nil)
	in.lanes.checkedAt = math.MaxInt64
	first, _ := img.Sender(1)
	second, _ := img.Sender(2)
	talk(t, in, first)
	for second.sharedCount <= laneAfter {
		if err := second.Send(nil); err != nil {
			t.Fatal(err)
		}
		in.Poll()
	}
	for range wantChecks + 1 {
		in.lanes.slots[1].quiet = 0 // it talks
		in.checkLanes()
	}
	if atomic.LoadUint32(in.lanes.wanted) != 0 {
		t.Fatal("still wanted")
	}
	second.sharedCount += askEvery
	if err := second.Send(nil); err != nil {
		t.Fatal(err)
	}
	if atomic.LoadUint32(in.lanes.wanted) != 1 {
		t.Fatal("did not ask again")
	}
}

// TestHeldMessageKeepsItsLane: the lane is free for others only when its last message was given
// back, and no message behind it in the shared ring is read before those in the lane.
func TestHeldMessageKeepsItsLane(t *testing.T) {
	img := heapImage(t, 3, abi.Geometry{Lanes: 2})
	in, _ := img.Inbox(nil)
	in.lanes.checkedAt = math.MaxInt64
	s, _ := img.Sender(1)
	talk(t, in, s)
	for _, text := range []string{"one", "two"} {
		if err := s.Send([]byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	if !s.GiveBack() {
		t.Fatal("not given back")
	}
	if err := s.Send([]byte("three")); err != nil {
		t.Fatal(err)
	}
	var held []Message
	for _, want := range []string{"one", "two", "three"} {
		m := mustPoll(t, in)
		if string(m.Head()) != want {
			t.Fatalf("%q, want %q", m.Head(), want)
		}
		held = append(held, m)
	}
	owner := img.laneOwner(1)
	for _, i := range []int{2, 0, 1} {
		in.checkLanes()
		if atomic.LoadUint64(owner) != 2 {
			t.Fatalf("free while %q is held", held[i].Head())
		}
		if err := in.Release(held[i]); err != nil {
			t.Fatal(err)
		}
	}
	in.checkLanes()
	if atomic.LoadUint64(owner) != 0 {
		t.Fatal("not free")
	}
}

// TestLaneOfTheDead: what a dead sender left in its lane comes, then the lane is free.
func TestLaneOfTheDead(t *testing.T) {
	for _, marked := range []bool{true, false} {
		img := newImage(t, 3, abi.Geometry{Lanes: 2})
		in, _ := img.Inbox(nil)
		in.lanes.checkedAt = math.MaxInt64
		s, _ := img.Sender(1)
		talk(t, in, s)
		if err := s.Send([]byte("last")); err != nil {
			t.Fatal(err)
		}
		if marked {
			if err := img.MarkPeerGone(1); err != nil {
				t.Fatal(err)
			}
		} else { // nobody tells; another sender wants the lane
			possess(img, 1, deadProcess(t))
			if other, _ := img.Sender(2); other.claim() {
				t.Fatal("no lane was free")
			}
		}
		in.checkLanes()
		if atomic.LoadUint64(img.laneOwner(1)) != 2 {
			t.Fatal("free before the last message was read")
		}
		if m := mustPoll(t, in); string(m.Head()) != "last" || in.Release(m) != nil {
			t.Fatalf("%q", m.Head())
		}
		for range 4 * silentChecks {
			in.checkLanes()
		}
		if atomic.LoadUint64(img.laneOwner(1)) != 0 || len(in.rings) != 1 {
			t.Fatalf("marked %v: owner %d", marked, atomic.LoadUint64(img.laneOwner(1)))
		}
	}
}

// TestLaneMemoryMoves: two contexts share memory for one lane. The one that needs it gets it, and
// the other's is given back to the system.
func TestLaneMemoryMoves(t *testing.T) {
	const lane = 1 << 16
	g := abi.Geometry{Lanes: 3, LaneBytes: lane, SharedBytes: lane, MaxMessage: 4096}
	memory := NewLaneMemory(lane + lane/2)
	a, b := newImage(t, 3, g), newImage(t, 3, g)
	inA, err := a.InboxWithin(memory, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	inB, err := b.InboxWithin(memory, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	inA.lanes.checkedAt, inB.lanes.checkedAt = math.MaxInt64, math.MaxInt64
	if inA.lanes.charged != 1 || inB.lanes.charged != 0 {
		t.Fatalf("%d and %d lanes", inA.lanes.charged, inB.lanes.charged)
	}
	toA, _ := a.Sender(1)
	toB, _ := b.Sender(1)
	before := blocks(t, a)
	talk(t, inA, toA)
	if blocks(t, a)-before < lane {
		t.Fatalf("a lane takes %d bytes", blocks(t, a)-before)
	}
	for toB.sharedCount <= laneAfter {
		if err := toB.Send(nil); err != nil {
			t.Fatal(err)
		}
		if err := inB.Release(mustPoll(t, inB)); err != nil {
			t.Fatal(err)
		}
	}
	inB.checkLanes() // it finds no memory
	for range silentChecks + 1 {
		inA.checkLanes()
	}
	if !toA.Recalled() || !toA.GiveBack() {
		t.Fatal("the other context keeps its silent lane")
	}
	inA.Poll()
	if inA.lanes.charged != 0 || blocks(t, a)-before >= lane {
		t.Fatalf("%d lanes, %d bytes", inA.lanes.charged, blocks(t, a)-before)
	}
	inB.checkLanes()
	talk(t, inB, toB)
	inB.Close()
	toA.sharedCount = laneAfter
	toA.claim() // in vain
	inA.checkLanes()
	talk(t, inA, toA) // in memory that reads as zero, it goes on where it was
	for i := range 3000 {
		if err := toA.Send(text(i, i%4000)); err != nil {
			t.Fatal(err)
		}
		m := mustPoll(t, inA)
		if !bytes.Equal(m.Head(), text(i, i%4000)) || inA.Release(m) != nil {
			t.Fatalf("message %d differs", i)
		}
	}
}

// blocks is how much memory the system has given to an image.
func blocks(t *testing.T, img *Image) int64 {
	t.Helper()
	var st unix.Stat_t
	if err := unix.Fstat(int(img.File().Fd()), &st); err != nil {
		t.Fatal(err)
	}
	return st.Blocks * 512
}

// TestImpossibleEnds: a record that ends a lane which its sender does not have is damage.
func TestImpossibleEnds(t *testing.T) {
	for name, c := range map[string]struct {
		lane   uint32
		length int
		tail   uint64
	}{
		"no lane":       {0, abi.LaneEndBytes, 0},
		"beyond":        {2, abi.LaneEndBytes, 0},
		"length":        {1, 0, 0},
		"more messages": {1, abi.LaneEndBytes, 1000},
	} {
		t.Run(name, func(t *testing.T) {
			img := heapImage(t, 3, abi.Geometry{Lanes: 2})
			in, _ := img.Inbox(nil)
			s, _ := img.Sender(1)
			talk(t, in, s)
			pos, _ := s.shared.reserve(abi.LaneEndBytes)
			binary.LittleEndian.PutUint64(s.shared.bytes(pos, abi.LaneEndBytes), c.tail)
			s.shared.publishAt(pos, abi.Commit(c.length, abi.KindLaneEnd, 1), c.lane)
			if _, ok := in.Poll(); ok || !errors.Is(in.TakeDamage(), ErrDamaged) {
				t.Fatal("no damage")
			}
		})
	}
}

// TestManyMoves has goroutines send at once and give their lanes back all the time; in ordinary
// memory, so that the race detector watches.
func TestManyMoves(t *testing.T) {
	const ranks = 5
	img := heapImage(t, ranks, small)
	in, err := img.InboxWithin(NewLaneMemory(2*4096), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	exchangeMany(t, img, in, ranks, func(s *Sender, rank, i uint32) {
		if s.open && i%(20+rank) == 0 || s.Recalled() {
			s.GiveBack()
		}
	})
	if img.Counter(abi.LanesGivenBack) < 10 || in.Damage() != nil {
		t.Errorf("%d lanes given back, %v", img.Counter(abi.LanesGivenBack), in.Damage())
	}
}
