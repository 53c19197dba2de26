package node

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// service plays the topology service and the sockets whose names it tells of.
type service struct {
	bound     map[binding]bool // what is so
	connected bool
	p         published
	believed  map[binding]bool // by an observer of each change
}

func (s *service) change(b binding, gone bool) {
	if s.bound[b] == !gone {
		return
	}
	if gone {
		delete(s.bound, b)
	} else {
		s.bound[b] = true
	}
	if s.connected {
		s.notify(b, gone)
	}
}

func (s *service) notify(b binding, gone bool) {
	if gone {
		s.p.unbind(b)
		delete(s.believed, b)
		return
	}
	s.p.bind(b)
	s.believed[b] = true
}

// reconnect tells of all that is bound, unless the connection is lost again before that is done.
func (s *service) reconnect(until int) {
	s.connected = true
	s.p.beginRound()
	for b := range s.bound {
		if until--; until < 0 {
			s.connected = false
			return
		}
		s.notify(b, false)
	}
	for _, b := range s.p.settle() {
		delete(s.believed, b)
	}
}

// TestPublished: however often the connection is lost, and whatever is bound and given up
// meanwhile: once it is there again, what is believed is so.
func TestPublished(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := &service{bound: map[binding]bool{}, believed: map[binding]bool{}, p: newPublished(100), connected: true}
		for range rapid.IntRange(0, 60).Draw(t, "steps") {
			b := binding{uint32(rapid.IntRange(0, 4).Draw(t, "name")), uint64(rapid.IntRange(0, 2).Draw(t, "socket"))}
			switch rapid.IntRange(0, 6).Draw(t, "step") {
			case 0:
				s.connected = false
			case 1:
				s.reconnect(rapid.IntRange(0, 20).Draw(t, "until"))
			case 2, 3:
				s.change(b, true)
			default:
				s.change(b, false)
			}
		}
		s.reconnect(len(s.bound))
		for b := range s.believed {
			if !s.bound[b] {
				t.Fatalf("%+v is believed to be bound", b)
			}
		}
		if len(s.believed) != len(s.bound) || len(s.p.bound) != len(s.bound) {
			t.Fatalf("%v are bound, believed %v, kept %v", s.bound, s.believed, s.p.bound)
		}
	})
}

// TestPublishedIsBounded: a program that binds without end takes no memory without end.
func TestPublishedIsBounded(t *testing.T) {
	p := newPublished(3)
	for i := range uint32(10) {
		p.bind(binding{instance: i})
	}
	p.beginRound()
	p.bind(binding{instance: 1})
	p.bind(binding{instance: 9})
	if gone := p.settle(); len(gone) != 2 || len(p.bound) != 1 {
		t.Errorf("%v are gone, %v kept", gone, p.bound)
	}
}

func TestSeenNodes(t *testing.T) {
	s := newSeenNodes(4, 1)
	s.see(3)
	s.see(3)
	if got := s.unseen(10); !slices.Equal(got, []uint32{0, 2}) || s.missing != 2 {
		t.Errorf("unseen are %v, %d", got, s.missing)
	}
	if got := s.unseen(1); !slices.Equal(got, []uint32{0}) {
		t.Errorf("the first is %v", got)
	}
	s.see(0)
	s.see(2)
	if got := s.unseen(10); got != nil || s.missing != 0 {
		t.Errorf("unseen are %v, %d", got, s.missing)
	}
}
