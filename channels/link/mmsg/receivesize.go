package mmsg

const (
	// Slots bounds the messages of one batch.
	Slots = 8
	// fullRuns is how many calls in a row that found all they asked for make a stream.
	fullRuns = 2
)

// ReceiveSize tells how many messages to ask for at once: one while they come alone, more in a stream. The
// zero value asks for one.
type ReceiveSize struct {
	more int // beyond the first
	run  int // calls in a row that found all they asked for
}

// Next returns how many the next call asks for.
func (r *ReceiveSize) Next() int { return 1 + r.more }

// Missed says that nothing was there: the next one is expected to come alone.
func (r *ReceiveSize) Missed() { *r = ReceiveSize{} }

// Took says how many a call found. The next batch is larger if this one was full and so was the one
// before: the first after a wait may be the only one, and is best received by a call for one.
func (r *ReceiveSize) Took(got int) {
	if got < r.Next() {
		r.run = 0
		return
	}
	if r.run++; r.run >= fullRuns {
		r.more = min(2*r.Next(), Slots) - 1
	}
}
