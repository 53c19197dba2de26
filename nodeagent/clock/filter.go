package clock

import "time"

// Filter makes an estimate from samples. The zero value has no samples and is ready for use. It is
// not safe for concurrent use, and allocates nothing.
type Filter struct {
	term    uint64
	samples [Window]Sample // the newest at (added-1) % Window
	added   uint64         // samples added for the term so far
	best    Sample         // the sample with the smallest bound at any instant

	// The offset in use moves from slewFrom, its value at slewSince, to the best sample's.
	slewFrom  int64
	slewSince int64

	outliers [OutliersToReset]Sample
	strays   int // number of valid outliers
}

// Add adds a sample from the leader of the given term. Samples must come in the order of their
// receipt. The first sample of a newer term resets the filter, since it is from another clock. An
// error means that the sample was not used; the estimate stays valid.
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

// Estimate returns the estimate at the local instant now, which must not be before the last
// sample's receipt. ok is false before the first sample.
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

// take adds a sample that agrees with the best one.
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

// onStray records a sample that contradicts the best one. After OutliersToReset strays that agree
// with each other it starts again with the last one.
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
