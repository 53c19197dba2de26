package uct

// Pending is an operation that waits for resources.
type Pending interface {
	// Retry begins the operation. ErrAgain keeps it in the queue; anything else removes it.
	Retry() error
}

// pendingList is a queue of operations. To remove the first of them takes constant time, however many
// wait, over many removals.
type pendingList struct {
	ops   []Pending
	first int // those before it were removed
}

func (l *pendingList) push(p Pending) { l.ops = append(l.ops, p) }

func (l *pendingList) len() int { return len(l.ops) - l.first }

func (l *pendingList) at(n int) Pending { return l.ops[l.first+n] }

// remove removes the first n.
func (l *pendingList) remove(n int) {
	clear(l.ops[l.first : l.first+n])
	l.first += n
	if l.first < l.len() {
		return
	}
	left := copy(l.ops, l.ops[l.first:])
	clear(l.ops[left:])
	l.ops, l.first = l.ops[:left], 0
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
