package channels

import (
	"bytes"
	"errors"
	"math"
	"score/channels/abi"
	"sync/atomic"
	"testing"
	"time"

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
	m.in.lanes.checkedAt = math.MaxInt64 // the model checks, not the clock
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
		s.sharedCount = max(s.sharedCount, laneAfter)
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
		m.in.checkLanes()
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
				for range rapid.IntRange(1, 2*silentChecks).Draw(r, "looks") {
					m.in.checkLanes()
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
