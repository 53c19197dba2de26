package leader

import "container/heap"

// timerKind identifies the deadline that a timer is for.
type timerKind uint8

const (
	timerJob   timerKind = iota // job.deadline
	timerOwner                  // job.ownerDeadline
	timerNode                   // node.deadline
	timerAsk                    // ask.deadline
	timerWeigh                  // accounts.weighAt
	timerIdle                   // job.idle.deadline
	timerShare                  // accounts.shareAt
)

// timer refers to a deadline. It is ignored if the deadline has changed since.
type timer struct {
	at   int64
	kind timerKind
	id   uint64
	node string
	seq  uint64 // order among equals, for deterministic outcomes
}

type timerHeap []timer

func (h timerHeap) Len() int { return len(h) }
func (h timerHeap) Less(i, j int) bool {
	if h[i].at != h[j].at {
		return h[i].at < h[j].at
	}
	return h[i].seq < h[j].seq
}
func (h timerHeap) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h *timerHeap) Push(x any)   { *h = append(*h, x.(timer)) }
func (h *timerHeap) Pop() any {
	last := len(*h) - 1
	x := (*h)[last]
	*h = (*h)[:last]
	return x
}

// timers is a queue of deadlines.
type timers struct {
	heap timerHeap
	seq  uint64
}

func (t *timers) add(x timer) {
	t.seq++
	x.seq = t.seq
	heap.Push(&t.heap, x)
}

// next removes and returns the earliest timer if it is due.
func (t *timers) next(now int64) (timer, bool) {
	if len(t.heap) == 0 || t.heap[0].at > now {
		return timer{}, false
	}
	return heap.Pop(&t.heap).(timer), true
}

// deadline returns when the earliest timer is due; 0: there is none.
func (t *timers) deadline() int64 {
	if len(t.heap) == 0 {
		return 0
	}
	return t.heap[0].at
}
