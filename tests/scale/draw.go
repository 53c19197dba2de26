package scale

import (
	"math"
	"math/rand/v2"
	"score/channels/abi"
	"score/ctxswitch"
	"score/ctxswitch/histogram"
	"time"
)

// maxSamples bounds the table that is drawn from; of more measurements it has evenly spaced
// quantiles.
const maxSamples = 1 << 16

// sampler draws from a distribution: each measurement is as likely as any other.
type sampler []int64

func newSampler(h *histogram.Histogram) sampler {
	n := min(h.Count(), maxSamples)
	s := make(sampler, n)
	for i := range s {
		s[i] = h.Quantile(float64(i+1) / float64(n)).Nanoseconds()
	}
	return s
}

func (s sampler) draw(r *rand.Rand) int64 { return s[r.IntN(len(s))] }

// meanLast returns the mean of the longest of n draws.
func (s sampler) meanLast(n int) time.Duration {
	mean, before := 0.0, 0.0
	for i, d := range s {
		all := math.Pow(float64(i+1)/float64(len(s)), float64(n)) // no draw is longer
		mean += float64(d) * (all - before)
		before = all
	}
	return time.Duration(mean)
}

// TimerLast returns how late the last of so many nodes is on average if each does nothing but wake
// at the instant. No switch of a gang on all of them is faster on such machines.
func (c *Costs) TimerLast(nodes int) time.Duration { return newSampler(&c.Timer).meanLast(nodes) }

// world draws how long the world takes.
type world struct {
	steps   [ctxswitch.MeasureCount]sampler
	message sampler
	// channels is what a node has; see ctxswitch.Config.
	channels int
	// clean and cutOff are the shares of flushes, added up.
	clean, cutOff float64
}

func newWorld(c *Costs, scarce bool) *world {
	w, of := &world{message: newSampler(&c.Message), channels: abi.MaxLocal}, &c.Staying
	if scarce {
		w.channels, of = 0, &c.Scarce
	}
	for i := range of.Steps {
		w.steps[i] = newSampler(&of.Steps[i])
	}
	f := of.Flushes
	all := float64(f.Clean + f.CutOff + f.Held)
	w.clean, w.cutOff = float64(f.Clean)/all, float64(f.Clean+f.CutOff)/all
	return w
}

func (w *world) scarce() bool { return w.channels == 0 }

// measures are the distributions of the steps that are ordered.
var measures = map[ctxswitch.Step]ctxswitch.Measure{
	ctxswitch.Revoke: ctxswitch.MeasureRevoke, ctxswitch.Stop: ctxswitch.MeasureStop, ctxswitch.Flush: ctxswitch.MeasureFlush,
	ctxswitch.Save: ctxswitch.MeasureSave, ctxswitch.Load: ctxswitch.MeasureLoad, ctxswitch.Go: ctxswitch.MeasureGo,
}

// took is how long a step takes.
func (w *world) took(r *rand.Rand, s ctxswitch.Step) int64 { return w.steps[measures[s]].draw(r) }

// late is how long after an instant the switching thread acts.
func (w *world) late(r *rand.Rand) int64 { return w.steps[ctxswitch.MeasureWake].draw(r) }

// flush counts how a flush ends.
func (w *world) flush(r *rand.Rand, f *Flushes) {
	switch x := r.Float64(); {
	case x < w.clean:
		f.Clean++
	case x < w.cutOff:
		f.CutOff++
	default:
		f.Held++
	}
}

// heartbeat draws the round trip of a heartbeat that is sent now.
func (w *world) heartbeat(r *rand.Rand) (there, back time.Duration) {
	return time.Duration(w.message.draw(r)), time.Duration(w.message.draw(r))
}
