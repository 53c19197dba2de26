package channels

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"runtime"
	"score/channels/abi"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	"pgregory.net/rapid"
)

// lanesModel is an inbox, its senders, and what must come from each of them.
type lanesModel struct {
	img     *Image
	in      *Inbox
	memory  *LaneMemory
	senders []*Sender
	dead    []bool
	queues  [][][]byte
	held    []heldMessage
	serial  int
}

type heldMessage struct {
	m    Message
	want []byte
}

// modelLanes is how many lanes the memory of the model is enough for: not all that there are.
const modelLanes = 2

func newLanesModel(t *testing.T, ranks int) *lanesModel {
	m := &lanesModel{img: heapImage(t, uint32(ranks), small), memory: NewLaneMemory(modelLanes * 4096)}
	var err error
	if m.in, err = m.img.InboxWithin(m.memory, nil, nil); err != nil {
		t.Fatal(err)
	}
	m.in.lanes.looked = math.MaxInt64 // the model looks, not the clock
	for rank := range uint32(ranks) {
		s, err := m.img.Sender(rank)
		if err != nil {
			t.Fatal(err)
		}
		m.senders = append(m.senders, s)
	}
	m.dead = make([]bool, ranks)
	m.queues = make([][][]byte, ranks)
	return m
}

func (m *lanesModel) send(r *rapid.T) {
	rank := rapid.IntRange(0, len(m.senders)-1).Draw(r, "rank")
	if m.dead[rank] {
		return
	}
	s := m.senders[rank]
	if rapid.Bool().Draw(r, "talkative") {
		s.said = max(s.said, laneAfter)
	}
	for range rapid.IntRange(1, 12).Draw(r, "burst") {
		m.serial++
		data := text(m.serial, rapid.OneOf(rapid.IntRange(0, 60), rapid.IntRange(0, 1900)).Draw(r, "length"))
		err := s.Send(data)
		if err != nil && !errors.Is(err, ErrFull) {
			r.Fatal(err)
		}
		if err == nil {
			m.queues[rank] = append(m.queues[rank], data)
		}
	}
}

func (m *lanesModel) poll(r *rapid.T) bool {
	got, ok := m.in.Poll()
	if !ok {
		return false
	}
	q := m.queues[got.Rank()]
	if len(q) == 0 || !bytes.Equal(got.Head(), q[0]) {
		r.Fatalf("rank %d: %d bytes that are not the next", got.Rank(), got.Len())
	}
	m.queues[got.Rank()] = q[1:]
	m.held = append(m.held, heldMessage{got, q[0]})
	return true
}

func (m *lanesModel) release(r *rapid.T, i int) {
	h := m.held[i]
	if !bytes.Equal(h.m.Head(), h.want) {
		r.Fatal("a message changed while it was held")
	}
	if err := m.in.Release(h.m); err != nil {
		r.Fatal(err)
	}
	m.held = append(m.held[:i], m.held[i+1:]...)
}

// obey has the senders give back what they are asked for.
func (m *lanesModel) obey() {
	for rank, s := range m.senders {
		if !m.dead[rank] && s.Recalled() {
			s.GiveBack()
		}
	}
}

// die leaves behind what a process leaves that ends at some point of a change of rings.
func (m *lanesModel) die(r *rapid.T) {
	rank := rapid.IntRange(1, len(m.senders)-1).Draw(r, "rank")
	if m.dead[rank] || rapid.IntRange(0, 3).Draw(r, "spared") != 0 {
		return
	}
	s := m.senders[rank]
	m.dead[rank] = true
	switch rapid.IntRange(0, 3).Draw(r, "point") {
	case 0: // between reserve and commit, of a message or the record of a lane's end
		s.shared.reserve(rapid.SampledFrom([]int{abi.LaneEndBytes, 300}).Draw(r, "reserved"))
	case 1: // between claim and record
		if !s.open && s.claimed == 0 {
			s.claim()
		}
	case 2: // after the end of its lane
		s.GiveBack()
	}
	if err := m.img.MarkPeerGone(uint32(rank)); err != nil {
		r.Fatal(err)
	}
}

// check is what must hold after every step.
func (m *lanesModel) check(r *rapid.T) {
	if err := m.in.Damage(); err != nil {
		r.Fatal(err)
	}
	used, polled := 0, len(m.in.rings)-1
	for lane := uint32(1); lane < m.img.layout.Lanes; lane++ {
		s := &m.in.lanes.slots[lane]
		owner := atomic.LoadUint64(m.img.laneOwner(lane))
		if owner != abi.LaneWithheld {
			used++
		}
		if s.own == nil {
			continue
		}
		if owner != uint64(s.own.writer)+1 {
			r.Fatalf("lane %d: owner %#x, its reader reads rank %d", lane, owner, s.own.writer)
		}
		if !s.ended {
			polled--
		} else if s.own.head == s.own.cursor && !m.in.lanes.pending {
			r.Fatalf("lane %d: left, read and given back, and not free", lane)
		}
	}
	if polled != 0 || used != m.in.lanes.charged || used > modelLanes || int64(used)*4096+m.memory.free.Load() != modelLanes*4096 {
		r.Fatalf("%d lanes in use, %d charged, %d bytes free; %d rings too many", used, m.in.lanes.charged, m.memory.free.Load(), polled)
	}
}

// drain takes and gives back everything.
func (m *lanesModel) drain(r *rapid.T) {
	for end := time.Now().Add(patience); ; {
		for len(m.held) > 0 {
			m.release(r, 0)
		}
		m.obey()
		m.in.lookAtLanes()
		if m.poll(r) || m.in.Stuck() {
			continue
		}
		left := 0
		for _, q := range m.queues {
			left += len(q)
		}
		if left == 0 && !m.in.lanes.pending {
			return
		}
		if time.Now().After(end) {
			r.Fatalf("%d messages never came; pending %v", left, m.in.lanes.pending)
		}
	}
}

// TestLanesComeAndGo has senders open lanes, give them back and die at random: each message comes
// once and in order, held ones do not change, and no lane is lost.
func TestLanesComeAndGo(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		m := newLanesModel(t, rapid.IntRange(3, 7).Draw(r, "ranks"))
		r.Repeat(map[string]func(*rapid.T){
			"send": m.send,
			"poll": func(r *rapid.T) {
				for range rapid.IntRange(1, 8).Draw(r, "polls") {
					m.poll(r)
				}
			},
			"release": func(r *rapid.T) {
				if len(m.held) > 0 {
					m.release(r, rapid.IntRange(0, len(m.held)-1).Draw(r, "which"))
				}
			},
			"give back": func(r *rapid.T) {
				if rank := rapid.IntRange(0, len(m.senders)-1).Draw(r, "rank"); !m.dead[rank] {
					m.senders[rank].GiveBack()
				}
			},
			"obey": func(*rapid.T) { m.obey() },
			"look": func(r *rapid.T) {
				for range rapid.IntRange(1, 2*silentLooks).Draw(r, "looks") {
					m.in.lookAtLanes()
				}
			},
			"die": m.die,
			"":    m.check,
		})
		m.drain(r)
		m.check(r)
		for lane := uint32(1); lane < m.img.layout.Lanes; lane++ {
			owner := atomic.LoadUint64(m.img.laneOwner(lane))
			if owner != 0 && owner != abi.LaneWithheld && m.dead[owner-1] {
				r.Fatalf("lane %d still belongs to rank %d, which is dead", lane, owner-1)
			}
		}
	})
}

// talk sends messages until the sender has or has not a lane.
func talk(t *testing.T, in *Inbox, s *Sender, open bool) {
	t.Helper()
	for range 2 * laneAfter {
		if s.open == open {
			return
		}
		if err := s.Send([]byte("talk")); err != nil {
			t.Fatal(err)
		}
		if err := in.Release(mustPoll(t, in)); err != nil {
			t.Fatal(err)
		}
	}
	if s.open != open {
		t.Fatalf("rank %d: lane open %v", s.rank, s.open)
	}
}

// TestSilentLaneMovesOn: with one lane, the sender that talks gets the lane of the one that does not;
// one that talks keeps it.
func TestSilentLaneMovesOn(t *testing.T) {
	img := heapImage(t, 3, abi.Geometry{Lanes: 2})
	var asked []uint32
	in, err := img.InboxWithin(nil, nil, func(rank uint32) { asked = append(asked, rank) })
	if err != nil {
		t.Fatal(err)
	}
	in.lanes.looked = math.MaxInt64
	first, _ := img.Sender(1)
	second, _ := img.Sender(2)
	talk(t, in, first, true)
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
		for range silentLooks - 1 {
			in.lookAtLanes()
		}
		if err := first.Send(nil); err != nil {
			t.Fatal(err)
		}
		if err := in.Release(mustPoll(t, in)); err != nil {
			t.Fatal(err)
		}
		in.lookAtLanes()
	}
	if len(asked) != 0 || first.Recalled() {
		t.Fatalf("a lane in use was asked back: %v", asked)
	}
	for range silentLooks {
		in.lookAtLanes()
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
	talk(t, in, second, true)
	if n := img.Counter(abi.LanesGivenBack); n != 1 || img.Counter(abi.LanesOpened) != 2 {
		t.Fatalf("%d lanes given back", n)
	}
}

// TestWishIsForgotten: where all lanes are busy, looks end; the sender asks again later.
func TestWishIsForgotten(t *testing.T) {
	img := heapImage(t, 3, abi.Geometry{Lanes: 2})
	in, _ := img.Inbox(nil)
	in.lanes.looked = math.MaxInt64
	first, _ := img.Sender(1)
	second, _ := img.Sender(2)
	talk(t, in, first, true)
	for second.said <= laneAfter {
		if err := second.Send(nil); err != nil {
			t.Fatal(err)
		}
		in.Poll()
	}
	for range wantLooks + 1 {
		in.lanes.slots[1].quiet = 0 // it talks
		in.lookAtLanes()
	}
	if atomic.LoadUint32(in.lanes.wanted) != 0 {
		t.Fatal("still wanted")
	}
	second.said += askEvery
	if err := second.Send(nil); err != nil {
		t.Fatal(err)
	}
	if atomic.LoadUint32(in.lanes.wanted) != 1 {
		t.Fatal("did not ask again")
	}
}

// TestHeldMessageKeepsItsLane: the lane is free for others only when its last message was given back,
// and no message behind it in the shared ring is read before those in the lane.
func TestHeldMessageKeepsItsLane(t *testing.T) {
	img := heapImage(t, 3, abi.Geometry{Lanes: 2})
	in, _ := img.Inbox(nil)
	in.lanes.looked = math.MaxInt64
	s, _ := img.Sender(1)
	talk(t, in, s, true)
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
		in.lookAtLanes()
		if atomic.LoadUint64(owner) != 2 {
			t.Fatalf("free while %q is held", held[i].Head())
		}
		if err := in.Release(held[i]); err != nil {
			t.Fatal(err)
		}
	}
	in.lookAtLanes()
	if atomic.LoadUint64(owner) != 0 {
		t.Fatal("not free")
	}
}

// TestLaneOfTheDead: what a dead sender left in its lane comes, then the lane is free.
func TestLaneOfTheDead(t *testing.T) {
	for _, marked := range []bool{true, false} {
		img := newImage(t, 3, abi.Geometry{Lanes: 2})
		in, _ := img.Inbox(nil)
		in.lanes.looked = math.MaxInt64
		s, _ := img.Sender(1)
		talk(t, in, s, true)
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
		in.lookAtLanes()
		if atomic.LoadUint64(img.laneOwner(1)) != 2 {
			t.Fatal("free before the last message was read")
		}
		if m := mustPoll(t, in); string(m.Head()) != "last" || in.Release(m) != nil {
			t.Fatalf("%q", m.Head())
		}
		for range 4 * silentLooks {
			in.lookAtLanes()
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
	inA.lanes.looked, inB.lanes.looked = math.MaxInt64, math.MaxInt64
	if inA.lanes.charged != 1 || inB.lanes.charged != 0 {
		t.Fatalf("%d and %d lanes", inA.lanes.charged, inB.lanes.charged)
	}
	toA, _ := a.Sender(1)
	toB, _ := b.Sender(1)
	before := blocks(t, a)
	talk(t, inA, toA, true)
	if blocks(t, a)-before < lane {
		t.Fatalf("a lane takes %d bytes", blocks(t, a)-before)
	}
	for toB.said <= laneAfter {
		if err := toB.Send(nil); err != nil {
			t.Fatal(err)
		}
		if err := inB.Release(mustPoll(t, inB)); err != nil {
			t.Fatal(err)
		}
	}
	inB.lookAtLanes() // it finds no memory
	for range silentLooks + 1 {
		inA.lookAtLanes()
	}
	if !toA.Recalled() || !toA.GiveBack() {
		t.Fatal("the other context keeps its silent lane")
	}
	inA.Poll()
	if inA.lanes.charged != 0 || blocks(t, a)-before >= lane {
		t.Fatalf("%d lanes, %d bytes", inA.lanes.charged, blocks(t, a)-before)
	}
	inB.lookAtLanes()
	talk(t, inB, toB, true)
	inB.Close()
	toA.said = laneAfter
	toA.claim() // in vain
	inA.lookAtLanes()
	talk(t, inA, toA, true) // in memory that reads as zero, it goes on where it was
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
			talk(t, in, s, true)
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
	const ranks, each = 5, 3000
	img := heapImage(t, ranks, small)
	in, err := img.InboxWithin(NewLaneMemory(2*4096), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for rank := range uint32(ranks) {
		s, err := img.Sender(rank)
		if err != nil {
			t.Fatal(err)
		}
		all.Go(func() {
			for i := range uint32(each) {
				data := make([]byte, 8+i%300)
				binary.LittleEndian.PutUint32(data, i)
				for s.Send(data) != nil {
					runtime.Gosched()
				}
				if s.open && i%(20+rank) == 0 || s.Recalled() {
					s.GiveBack()
				}
			}
		})
	}
	var next [ranks]uint32
	for got := 0; got < ranks*each; {
		m, ok := in.Poll()
		if !ok {
			runtime.Gosched()
			continue
		}
		i := binary.LittleEndian.Uint32(m.Head())
		if i != next[m.Rank()] || m.Len() != int(8+i%300) {
			t.Fatalf("rank %d: message %d, want %d; %d bytes", m.Rank(), i, next[m.Rank()], m.Len())
		}
		next[m.Rank()]++
		got++
		if err := in.Release(m); err != nil {
			t.Fatal(err)
		}
	}
	all.Wait()
	if img.Counter(abi.LanesGivenBack) < 10 || in.Damage() != nil {
		t.Errorf("%d lanes given back, %v", img.Counter(abi.LanesGivenBack), in.Damage())
	}
}
