package clock

import "time"

// Filter makes an estimate from samples. The zero value knows nothing and is
// ready. It is not safe for concurrent use, and allocates nothing.
type Filter struct {
	term    uint64
	samples [Window]Sample // the newest at (added-1) % Window
	added   uint64         // how many were ever added for the term
	best    Sample         // the one with the smallest bound at any instant

	// The offset in use moves from slewFrom, which it had at slewSince, to
	// the best sample's.
	slewFrom  int64
	slewSince int64

	outliers [OutliersToReset]Sample
	strays   int // how many of outliers are in use
}

// Add takes a sample from the leader of the given term. Samples come in the
// order of their receipt. The first of a newer term empties the filter: it is
// another clock. The error says why a sample was not used; an estimate made
// before stays good.
func (f *Filter) Add(term uint64, s Sample) error {
	if err := s.usable(); err != nil {
		return err
	}
	if term < f.term {
		return ErrOldTerm
	}
	if term > f.term || f.added == 0 {
		f.restart(term, s)
		return nil
	}
	if !s.agrees(&f.best) {
		return f.onStray(s)
	}
	f.strays = 0
	f.take(s)
	return nil
}

// Estimate returns what is known at the local instant now, which is not before
// the last sample's receipt. ok is false before the first sample.
func (f *Filter) Estimate(now int64) (e Estimate, ok bool) {
	if f.added == 0 {
		return Estimate{}, false
	}
	offset := f.offset(now)
	off := offset - f.best.offset()
	if off < 0 {
		off = -off
	}
	return Estimate{
		Term:       f.term,
		Offset:     offset,
		ErrorBound: time.Duration(f.best.bound(now) + off),
		RTT:        f.best.roundTrip(),
		Age:        time.Duration(now - f.best.Received),
	}, true
}

// offset returns the offset in use, on its way to the best sample's.
func (f *Filter) offset(now int64) int64 {
	way := f.best.offset() - f.slewFrom
	reach := max(0, now-f.slewSince) / (1_000_000 / SlewPPM)
	return f.slewFrom + min(max(way, -reach), reach)
}

// restart starts again with one sample, whose offset is in use at once.
func (f *Filter) restart(term uint64, s Sample) {
	*f = Filter{term: term, best: s, slewFrom: s.offset(), slewSince: s.Received}
	f.remember(s)
}

// take adds a sample that agrees with what is known.
func (f *Filter) take(s Sample) {
	now := s.Received
	at := f.offset(now)
	f.remember(s)
	f.choose(now)
	f.slewFrom, f.slewSince = at, now
}

// remember puts a sample in the place of the oldest.
func (f *Filter) remember(s Sample) {
	f.samples[f.added%Window] = s
	f.added++
}

// choose finds the sample with the smallest bound. All bounds grow at the same
// rate, so it is the best until the next sample comes.
func (f *Filter) choose(now int64) {
	known := f.samples[:min(f.added, Window)]
	f.best = known[0]
	for i := range known {
		if known[i].bound(now) <= f.best.bound(now) {
			f.best = known[i]
		}
	}
}

// onStray keeps a sample that contradicts the best one, and starts again with it
// when it is the last of enough that agree among themselves.
func (f *Filter) onStray(s Sample) error {
	if f.strays > 0 && !s.agrees(&f.outliers[f.strays-1]) {
		f.strays = 0
	}
	f.outliers[f.strays] = s
	f.strays++
	if f.strays < OutliersToReset {
		return ErrOutlier
	}
	agreed := f.outliers
	f.restart(f.term, agreed[0])
	for _, o := range agreed[1:] {
		f.take(o)
	}
	return nil
}
