// Package clock estimates how far the leader's clock is ahead of the node's
// own, from the times of heartbeats, so that all nodes switch at the same
// instants.
//
// A heartbeat that left at local time a, reached the leader at cluster time s, left it again at
// cluster time t and was back at local time b says that the offset lies between t-b and s-a.
// Whatever the delays of the two ways are, the middle is wrong by half the round trip at most; the
// time at the leader is no part of it. So the sample with the shortest round trip is the best,
// until it is so old that the drift of the two oscillators since may exceed
// what another's longer round trip may hide. That is the minimum filter of NTP
// (RFC 5905, sections 8 and 10) with the error bound carried along.
//
// The package reads no clock and sends nothing: instants come in, an estimate
// goes out. It does not set the system's clock, and does not discipline the
// oscillator's rate.
//
//	var f clock.Filter
//	f.Add(term, clock.Sample{Sent: a, Arrived: s, Left: t, Received: b})
//	if e, ok := f.Estimate(now()); ok {
//		machine.Handle(now(), ctxswitch.OffsetChanged(e.Term, e.Offset))
//	}
package clock
