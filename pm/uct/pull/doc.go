// Package pull decides what the reader of long transfers asks for, and when, and what the owner of
// the bytes sends: machines without I/O.
//
// A reader asks the owner of the bytes for pieces, by messages that surely arrive. The owner sends
// a piece in frames, in order, which may be lost, doubled or overtaken. When the last one has come,
// what is missing a moment later is asked for again. When none comes for a while, the reader
// probes: it asks, once, whether the piece was sent, and the owner says so after its last frame. So
// no timer takes a frame for lost that was not sent: the owner's process may be frozen or busy for
// as long as it likes. Transfers without losses cost their owner no word.
//
//	r := pull.New(pull.DefaultConfig())
//	p := r.Start(id, length)
//	for { p, at, n, ok := r.Next(); ...; r.Asked(now) }  // what to ask for
//	if p.Expects(at, n) { ...; r.Took(now, p, at, n) }  // a frame came
//	for { p, at, n, ok := r.Probe(); ...; r.Probed() }  // what to probe
//	r.Sent(now, p, at, n)                               // the owner says that it sent a piece
//	r.Tick(now)                                         // by Deadline at the latest
//
// The owner needs no more than the place that it has come to:
//
//	o, ok := pull.Serve(length, at, n)                  // what it was asked for, if that is there
//	for { at, n, ok := o.Next(longest); ...; o.Passed(n) }
//
// All pulls of a reader share a window: how many bytes may be asked for that have not come. So
// however many owners there are, they never send more at once than the reader's socket holds. The
// window shrinks when frames are lost and grows when pieces come whole.
package pull
