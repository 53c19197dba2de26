package uct

// Pending is an operation that waits for resources.
type Pending interface {
	// Retry begins the operation. ErrAgain keeps it in the queue; anything else removes it.
	Retry() error
}

// queue keeps what waits, in the order in which it came. Removing the first takes constant time on
// average, however much waits.
type queue[T any] struct {
	all   []T
	first int // those before it were removed
}

func (q *queue[T]) push(v T) { q.all = append(q.all, v) }

func (q *queue[T]) len() int { return len(q.all) - q.first }

func (q *queue[T]) at(n int) T { return q.all[q.first+n] }

// pop removes and returns the first.
func (q *queue[T]) pop() T {
	v := q.at(0)
	q.remove(1)
	return v
}

// remove removes the first n.
func (q *queue[T]) remove(n int) {
	clear(q.all[q.first : q.first+n])
	q.first += n
	if q.first < q.len() {
		return
	}
	left := copy(q.all, q.all[q.first:])
	clear(q.all[left:])
	q.all, q.first = q.all[:left], 0
}

// Pend appends an operation to the queue of those that wait for resources.
func (e *EP) Pend(p Pending) {
	e.iface.counts.Exhausted++
	e.pending.push(p)
	e.activate()
}

func (e *EP) retryPending() (n int) {
	if e.pending.len() == 0 || e.failed != nil {
		return 0
	}
	e.serving = true
	for n < e.pending.len() && e.pending.at(n).Retry() != ErrAgain { //nolint:errorlint // this very value
		n++
	}
	e.serving = false
	e.pending.remove(n)
	return n
}
