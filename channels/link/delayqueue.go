package link

import (
	"math/rand/v2"
	"time"
)

// delayQueue holds back what a bad network delays or reorders, and has the dice that decide.
type delayQueue[T any] struct {
	faults Faults
	dice   *rand.Rand
	now    func() time.Time
	held   []held[T] // in the order of their coming
}

// held is a datagram that goes later.
type held[T any] struct {
	what T
	due  time.Time
	wait int // datagrams that still go first, unless it is due
}

// newDelayQueue returns an empty queue. Queues of one seed and different streams have dice of their
// own.
func newDelayQueue[T any](f Faults, stream uint64) delayQueue[T] {
	seed := f.Seed
	if seed == 0 {
		seed = rand.Uint64()
	}
	return delayQueue[T]{faults: f, dice: rand.New(rand.NewPCG(seed, stream)), now: time.Now}
}

func (q *delayQueue[T]) happens(probability float64) bool {
	return probability > 0 && q.dice.Float64() < probability
}

// hold keeps a datagram for the delay and, if it is a stray, until others have overtaken it. If the
// queue is full, the oldest goes.
func (q *delayQueue[T]) hold(what T, stray bool, send func(T)) {
	if len(q.held) == maxHeld {
		send(q.remove(0))
	}
	h := held[T]{what: what, due: q.now().Add(q.faults.Delay)}
	if stray {
		h.due, h.wait = h.due.Add(strayTime), 1+q.dice.IntN(overtakers)
	}
	q.held = append(q.held, h)
}

func (q *delayQueue[T]) remove(i int) T {
	what := q.held[i].what
	q.held = append(q.held[:i], q.held[i+1:]...)
	return what
}

// passed counts for all strays that another datagram has overtaken them.
func (q *delayQueue[T]) passed() {
	for i := range q.held {
		q.held[i].wait = max(q.held[i].wait-1, 0)
	}
}

// release sends what was held long enough, and reports whether it sent any.
func (q *delayQueue[T]) release(send func(T)) bool {
	if len(q.held) == 0 {
		return false
	}
	now, sent := q.now(), false
	for i := 0; i < len(q.held); {
		h := &q.held[i]
		if q.stays(h) && now.Before(h.due) {
			i++
			continue
		}
		send(q.remove(i))
		sent = true
	}
	return sent
}

// stays reports whether something held waits for its time.
func (q *delayQueue[T]) stays(h *held[T]) bool { return h.wait > 0 || q.faults.Delay > 0 }

// next returns how long the first of what is held stays; holds is false if nothing is.
func (q *delayQueue[T]) next() (wait time.Duration, holds bool) {
	if len(q.held) == 0 {
		return 0, false
	}
	first := q.held[0].due
	for i := range q.held {
		h := &q.held[i]
		if !q.stays(h) {
			return 0, true
		}
		if h.due.Before(first) {
			first = h.due
		}
	}
	return first.Sub(q.now()), true
}
