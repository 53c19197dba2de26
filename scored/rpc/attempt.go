package rpc

import (
	"context"
	"score/scored/api/scorev1"
	"score/scored/leader"
	"sync"
	"sync/atomic"
	"time"
)

// attempt is the fetching of one attempt to run a job.
type attempt struct {
	number  uint32
	sources sync.WaitGroup
	// stopInput ends the forwarding of input to the attempt, stop the fetching of its output.
	stopInput, stop context.CancelFunc
}

// priorPatience is how long open waits for the output of the previous attempt: nodes send what they
// have within milliseconds, and the lost node may never answer.
const priorPatience = 5 * time.Second

// open starts to fetch a job's output from all its nodes, and to forward the client's input to
// those that take it. If the job was restarted, all output of the previous attempt comes first,
// then the restart event, then the output of this attempt.
func (m *merger) open(ctx context.Context, sources []*leader.Source) {
	if len(sources) == 0 {
		return
	}
	first := sources[0]
	prior := m.attempts[first.Job]
	restarted := prior == nil && m.marks.before(first.Job, first.Attempt)
	if prior != nil {
		if prior.number == first.Attempt {
			return
		}
		prior.stopInput()
		restarted = first.Restarts > 0
	}
	inputCtx, stopInput := context.WithCancel(ctx)
	fetchCtx, stop := context.WithCancel(ctx)
	next := &attempt{number: first.Attempt, stopInput: stopInput, stop: stop}
	m.attempts[first.Job] = next
	next.sources.Add(1)
	m.sources.Go(func() {
		defer next.sources.Done()
		if prior != nil {
			late := time.AfterFunc(priorPatience, prior.stop)
			prior.sources.Wait()
			late.Stop()
		}
		if restarted {
			m.emit(ctx, &scorev1.AttachEvent{Event: &scorev1.AttachEvent_Restarted_{Restarted: &scorev1.AttachEvent_Restarted{
				JobId: first.Job, Restarts: first.Restarts, Because: first.Because,
			}}})
		}
		m.followAll(ctx, fetchCtx, inputCtx, next, sources)
	})
}

// followAll fetches the sources of one attempt.
func (m *merger) followAll(ctx, fetchCtx, inputCtx context.Context, a *attempt, sources []*leader.Source) {
	var readers []*reader
	left := new(atomic.Int32)
	left.Store(int32(len(sources)))
	for _, source := range sources {
		r := m.inputs.reader(source.Stdin)
		if source.Stdin {
			readers = append(readers, r)
		}
		a.sources.Add(1)
		m.sources.Go(func() {
			defer a.sources.Done()
			defer close(r.over)
			m.follow(ctx, fetchCtx, source, r)
			if left.Add(-1) == 0 && ctx.Err() == nil {
				m.onFetched(ctx, sources)
			}
		})
	}
	if len(readers) > 0 {
		m.senders.Go(func() { m.inputs.distribute(inputCtx, readers) })
	}
}
