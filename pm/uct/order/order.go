package order

// Origin counts the requests of this rank. They are numbered from 1, modulo 2^32; fewer than 2^31
// are under way.
type Origin struct {
	sent  uint32
	acked uint32 // the peer has served all up to this one
}

// Send counts a request and returns its number.
func (o *Origin) Send() uint32 {
	o.sent++
	return o.sent
}

// OnAck takes an acknowledgement. It is false if the peer acknowledges what was not sent, or takes
// an acknowledgement back.
func (o *Origin) OnAck(upTo uint32) bool {
	if int32(o.sent-upTo) < 0 || int32(upTo-o.acked) < 0 {
		return false
	}
	o.acked = upTo
	return true
}

// Served reports whether the peer has served the request.
func (o *Origin) Served(number uint32) bool { return int32(o.acked-number) >= 0 }

// Target counts the requests of a peer.
//
//	reported <= served                     an acknowledgement is due if they differ
type Target struct {
	served   uint32
	reported uint32 // the peer knows that all up to this one were served
	refusals int    // that were not sent yet: no acknowledgement may overtake them
}

// Serve counts a request that was served, or refused, and returns its number.
func (t *Target) Serve() uint32 {
	t.served++
	return t.served
}

// Refuse records a refusal that must be sent; Refused records that it was.
func (t *Target) Refuse() { t.refusals++ }

// Refused records that a refusal was sent.
func (t *Target) Refused() { t.refusals-- }

// Due returns the acknowledgement, and whether it may be sent now. Acked records that it was.
func (t *Target) Due() (upTo uint32, due bool) {
	return t.served, t.served != t.reported && t.refusals == 0
}

// Acked records that an acknowledgement was sent.
func (t *Target) Acked(upTo uint32) { t.reported = upTo }

// Owes reports whether served requests have not been acknowledged yet.
func (t *Target) Owes() bool { return t.served != t.reported }

// Run is requests with numbers that follow each other. The zero Run has none.
type Run struct {
	First, Last uint32
	some        bool
}

// RunOf is the run of one request.
func RunOf(number uint32) Run { return Run{number, number, true} }

// Add appends a request, whose number follows those that the run has.
func (r *Run) Add(number uint32) {
	if !r.some {
		r.First, r.some = number, true
	}
	r.Last = number
}

// Precedes reports whether the number is the one behind the run.
func (r *Run) Precedes(number uint32) bool { return r.some && r.Last+1 == number }

// Meets reports whether some request is in the run, and from first to last.
func (r *Run) Meets(first, last uint32) bool {
	return r.some && int32(r.Last-first) >= 0 && int32(last-r.First) >= 0
}
