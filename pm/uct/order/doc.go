// Package order counts the requests of one rank to another, their acknowledgements and refusals:
// two machines without I/O, whose zero values are fresh.
//
// Requests go in order and are served in order, so they are counted, not named. An acknowledgement
// says up to which number all were served, a refusal which of them failed; it goes before the
// acknowledgement that covers them.
//
//	acked <= served at the peer <= sent            modulo 2^32
//
//	origin                                  target
//	n := o.Send()          ──request──▶     n := t.Serve()
//	                                        t.Refuse(), then t.Refused() when that was sent
//	o.OnAck(upTo)          ◀────ack────     upTo, due := t.Due(); t.Acked(upTo)
//	o.Served(n)
package order
