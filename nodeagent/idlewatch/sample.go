package idlewatch

import (
	"score/channels/node"
	"score/nodeagent/quiescence"
	"score/nodeagent/realtime"
	"time"
)

// sleeper is the state of a job with channels.
type sleeper struct {
	watch quiescence.Watch
	cut   node.Cut
	on    time.Duration // the gang's time on at the last check
	// examining is the search for what could wake the job, nil if there is none.
	examining *examination
	// inGroup says that its processes are in a control group.
	inGroup bool
}

// examination is a search that the leader's question began, in an epoch of the job.
type examination struct{ request, epoch uint64 }

// sample takes a sample of a job. It returns false if there is nothing new: a gang that was not on
// since the last check has done nothing.
func (s *sleeper) sample(j Job) (sample quiescence.Sample, ok bool) {
	if j.IsOver() {
		return sample, false
	}
	j.Use(func(p Part) {
		sample.Now = realtime.Now()
		sample.On = p.Ran(sample.Now)
		if sample.On == s.on {
			return
		}
		s.on = sample.On
		p.Cut(&s.cut)
		var err error
		sample.CPU, err = p.CPUTime()
		sample.Ranks, sample.Asleep, sample.Pending, sample.Mark = s.cut.Ranks, s.cut.Asleep, s.cut.Pending, markOf(&s.cut)
		s.inGroup = p.InGroup()
		ok = err == nil
	})
	return sample, ok
}

// markOf returns a number that changes when a rank has sent, received, or begun another wait
// (FNV-1a).
func markOf(cut *node.Cut) uint64 {
	const basis, prime = 14695981039346656037, 1099511628211
	mark := uint64(basis)
	mix := func(v uint64) {
		for range 8 {
			mark = (mark ^ v&0xff) * prime
			v >>= 8
		}
	}
	mix(cut.Sent)
	mix(cut.Received)
	for i := range cut.Waits {
		w := &cut.Waits[i]
		for _, v := range []uint64{uint64(w.Rank)<<32 | uint64(w.Channel), uint64(w.How), uint64(w.Since), w.Sent, w.Received} {
			mix(v)
		}
	}
	return mark
}
