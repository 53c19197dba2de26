package mmsg

const (
	// Slots bounds the messages of one batch.
	Slots = 8
	// fullRuns is the number of full calls in a row that make a stream.
	fullRuns = 2
)

// ReceiveSize adapts how many messages to ask for at once: one while they come alone, more in a
// stream. The zero value asks for one.
type ReceiveSize struct {
	more int // beyond the first
	run  int // calls in a row that found all they asked for
}

// Next returns how many the next call asks for.
func (r *ReceiveSize) Next() int { return 1 + r.more }

// Missed records that nothing was there: the next message is expected to come alone.
func (r *ReceiveSize) Missed() { *r = ReceiveSize{} }

// Took records how many messages a call found. The next batch is larger if this one and the one
// before were full: the first message after a wait may be the only one, and is best received by a
// call for one.
func (r *ReceiveSize) Took(got int) {
	if got < r.Next() {
		r.run = 0
		return
	}
	if r.run++; r.run >= fullRuns {
		r.more = min(2*r.Next(), Slots) - 1
	}
}
