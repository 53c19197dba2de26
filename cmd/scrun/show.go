package main

import (
	"fmt"
	"score/scored/api/scorev1"
	"sync"
)

// maxUnshown bounds the output that waits to be shown, in bytes. Each node sends at most 512 KiB of
// unconfirmed output, so only jobs on hundreds of nodes reach this bound; scrun then receives
// nothing until some output is shown.
const maxUnshown = 64 << 20

// unshown is the queue of events that wait to be shown. A terminal or pipe that accepts no output
// slows the ranks down, since output is confirmed only when it is shown. Meanwhile scrun still
// forwards input, and finds another daemon if the stream breaks.
type unshown struct {
	mu      sync.Mutex
	changed *sync.Cond
	events  []*scorev1.AttachEvent
	bytes   int // of output in events
	ended   bool
}

func newUnshown() *unshown {
	u := &unshown{}
	u.changed = sync.NewCond(&u.mu)
	return u
}

// put adds an event. It blocks while too much output waits.
func (u *unshown) put(event *scorev1.AttachEvent) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for u.bytes >= maxUnshown {
		u.changed.Wait()
	}
	u.events = append(u.events, event)
	u.bytes += len(event.GetOutput().GetData())
	u.changed.Broadcast()
}

// end marks that no more events will come.
func (u *unshown) end() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.ended = true
	u.changed.Broadcast()
}

// take waits for events and returns all of them; nil: there will be no more.
func (u *unshown) take() []*scorev1.AttachEvent {
	u.mu.Lock()
	defer u.mu.Unlock()
	for len(u.events) == 0 && !u.ended {
		u.changed.Wait()
	}
	events := u.events
	u.events = nil
	return events
}

// release records that bytes of output no longer wait.
func (u *unshown) release(bytes int) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.bytes -= bytes
	u.changed.Broadcast()
}

// show shows events until the last. If output cannot be shown, it signals outputFailed once, drops
// further output and returns the reason.
func (s *session) show(events *unshown, outputFailed chan<- struct{}) (trouble error) {
	for {
		batch := events.take()
		if batch == nil {
			return trouble
		}
		for i, event := range batch {
			batch[i] = nil // frees its output
			if err := s.showing.during(func() error { return s.showOne(event) }); err != nil {
				trouble = err
				outputFailed <- struct{}{} // display returns an error only once
			}
			events.release(len(event.GetOutput().GetData()))
		}
	}
}

func (s *session) showOne(event *scorev1.AttachEvent) (err error) {
	switch event := event.GetEvent().(type) {
	case *scorev1.AttachEvent_Output:
		err = s.display.Show(event.Output)
		s.shown.add(event.Output)
	case *scorev1.AttachEvent_State:
		err = s.display.Place(event.State.GetPlaces())
		s.showState(event.State)
	case *scorev1.AttachEvent_Warning:
		s.messenger.warn(event.Warning)
	case *scorev1.AttachEvent_Restarted_:
		err = s.display.Flush()
		s.messenger.print(restartText(event.Restarted))
	}
	return err
}

// restartText returns the line between the outputs of a job's attempts.
func restartText(r *scorev1.AttachEvent_Restarted) string {
	text := fmt.Sprintf("job %d restarts (restart %d)", r.GetJobId(), r.GetRestarts())
	if r.GetBecause() != "" {
		text += ": " + r.GetBecause()
	}
	return text
}

func (s *session) showState(change *scorev1.AttachEvent_StateChange) {
	if !s.messenger.verbose {
		return
	}
	job := &scorev1.Job{Id: s.jobID, State: change.GetState(), Places: change.GetPlaces(), WaitingFor: change.GetMessage()}
	s.messenger.note("%s", describeJob(job, nil)[0])
}
