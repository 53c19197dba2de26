package leader

import (
	"fmt"
	"score/scored/api/scorev1"
	"slices"
	"sync"
)

// maxPending bounds the events that an attachment has not received yet. There are few per job: a
// client that is so far behind is cut off, and may attach again.
const maxPending = 256

// Event is a message for the client, or the sources of one job's output.
type Event struct {
	Message *scorev1.AttachEvent
	Sources []*Source
}

// Source is where the output of a job on one node can be fetched.
type Source struct {
	Job     uint64
	Node    string
	Index   uint32 // index of the node in the job's places
	Address string // of the node's agent
	Stdin   bool   // ranks there read the client's input
	Attempt uint32 // the job's attempt that wrote the output
	// Restarts is the number of restarts before this attempt, and Because the reason of the last
	// one; empty: unknown.
	Restarts uint32
	Because  string
}

// AttachOptions are the options of an attachment.
type AttachOptions struct {
	Owner  bool // the job ends when the last owner is gone for OwnerGrace
	Output bool // the output is wanted; the job's nodes keep it until it is read
	// Acknowledges says that the client acknowledges the output when it has all of it. If nodes no
	// longer have output that it has not acknowledged, output was lost.
	Acknowledges bool
	// Received is the latest attempt whose output the client has to its end; 0: none. Such a client
	// attaches again only for the end of the job.
	Received uint32
}

// Attachment is a client's attachment to one job, from Leader.Attach to Close.
type Attachment struct {
	leader  *Leader
	job     uint64
	options AttachOptions
	ended   bool // the controller has sent the last event
	events  chan Event
	broken  chan struct{}
	once    sync.Once
}

func newAttachment(l *Leader, id uint64, options AttachOptions) *Attachment {
	return &Attachment{
		leader: l, job: id, options: options,
		events: make(chan Event, maxPending),
		broken: make(chan struct{}),
	}
}

// Events returns the events in order. The event with Message.Ended is the last.
func (a *Attachment) Events() <-chan Event { return a.events }

// Broken is closed if the attachment breaks before the end: the leader has changed, or the client
// did not receive its events in time.
func (a *Attachment) Broken() <-chan struct{} { return a.broken }

// deliver does not block.
func (a *Attachment) deliver(e Event) {
	select {
	case a.events <- e:
	default:
		a.breakOff()
	}
}

func (a *Attachment) breakOff() { a.once.Do(func() { close(a.broken) }) }

// attach attaches a client to a job that the controller still knows. Only one client can have the
// output: the nodes keep no copy for a second.
func (c *controller) attach(j *job, w *Attachment) error {
	if w.options.Output && j.reading() {
		return j.refuseReader(w)
	}
	j.watchers = append(j.watchers, w)
	if w.options.Owner {
		j.ownerDeadline = 0
	}
	c.notify(w, Event{Message: c.stateEvent(j, c.waitingFor(j))})
	for _, note := range j.notes {
		c.notify(w, warning(note))
	}
	if j.outputLost || j.forgotten && j.started != 0 && j.needsOwner() && j.attempts > w.options.Received {
		c.notifyMissing(w)
	}
	c.openSources(j, w)
	c.settleEnd(j)
	return nil
}

// refuseReader returns the reason why a client cannot have the output: another one has it. If both
// are owners, both are the same scrun, which attaches again after a daemon on the way has stopped.
// That daemon may hold the earlier attachment for long, so it is broken off here, and scrun tries
// again.
func (j *job) refuseReader(w *Attachment) error {
	for _, other := range j.watchers {
		if other.options.Output && other.options.Owner && w.options.Owner {
			other.breakOff()
			return fmt.Errorf("%w: an earlier connection of scrun has the output of job %d, and is being closed; try again in a second", ErrAttached, j.id)
		}
	}
	return fmt.Errorf("%w: the output of job %d goes to another client already; attach without output", ErrState, j.id)
}

// notifyMissing notifies a client that wants the output that some of it is lost.
func (c *controller) notifyMissing(w *Attachment) {
	if w.options.Output && w.options.Acknowledges {
		c.notify(w, outputMissing())
	}
}

func outputMissing() Event {
	return Event{Message: &scorev1.AttachEvent{Event: &scorev1.AttachEvent_OutputMissing{OutputMissing: true}}}
}

// openSources sends an attachment all sources of output, also of spawned jobs.
func (c *controller) openSources(j *job, w *Attachment) {
	if w.options.Output && (j.state == running || j.started != 0) && !j.forgotten && !j.outputUnknown() {
		c.notify(w, Event{Sources: c.sources(j)})
	}
	for _, child := range j.children {
		c.openSources(child, w)
	}
}

func (c *controller) sources(j *job) []*Source {
	var sources []*Source
	for i, p := range j.parts {
		if n := c.nodes[p.Node]; n != nil && !p.lost {
			sources = append(sources, &Source{
				Job: j.id, Node: p.Node, Index: uint32(i), Address: n.address, Stdin: j.readsInput(p),
				Attempt: j.attempts, Restarts: j.restarts, Because: j.because,
			})
		}
	}
	return sources
}

// readsInput reports whether a rank of the part reads the client's input.
func (j *job) readsInput(p *part) bool {
	switch j.spec.GetStdin() {
	case scorev1.StdinMode_STDIN_MODE_NONE:
		return false
	case scorev1.StdinMode_STDIN_MODE_ALL:
		return true
	default:
		return len(p.Ranks) > 0 && p.Ranks[0] == 0
	}
}

// detach removes an attachment. If it was the last owner, another may come within OwnerGrace.
func (c *controller) detach(id uint64, w *Attachment) {
	j := c.jobs[id]
	if j == nil {
		return
	}
	for i, other := range j.watchers {
		if other == w {
			j.watchers = append(j.watchers[:i:i], j.watchers[i+1:]...)
			break
		}
	}
	if w.options.Owner && j.owners() == 0 && j.needsOwner() && (!j.over() || w.options.Output && j.unread()) {
		c.awaitOwner(j)
	}
	c.settleTree(j)
}

func (c *controller) awaitOwner(j *job) {
	j.ownerDeadline = c.now + OwnerGrace.Nanoseconds()
	c.timers.add(timer{at: j.ownerDeadline, kind: timerOwner, id: j.id})
}

// onOwnerDeadline ends a job that has had no owner for OwnerGrace.
func (c *controller) onOwnerDeadline(j *job) {
	if !j.over() {
		c.stop(
			j,
			verdict(cancelled, exitEnded, "the job was cancelled: its scrun was gone for %v; use --detach for jobs that continue without scrun", OwnerGrace),
		)
	}
	c.settleTree(j) // jobs that it spawned may have ended before it
}

// notifyState sends the job's attachments its state, and the sources of its output.
func (c *controller) notifyState(j *job, message string) {
	for _, w := range j.watchers {
		c.notify(w, Event{Message: c.stateEvent(j, message)})
	}
	if j.state == running {
		c.notifySources(j)
	}
}

// notifySources sends the sources of the job's output to the attachments that want it.
func (c *controller) notifySources(j *job) {
	for ancestor := j; ancestor != nil; ancestor = ancestor.parent {
		for _, w := range ancestor.watchers {
			if w.options.Output {
				c.notify(w, Event{Sources: c.sources(j)})
			}
		}
	}
}

func (c *controller) stateEvent(j *job, message string) *scorev1.AttachEvent {
	return &scorev1.AttachEvent{Event: &scorev1.AttachEvent_State{State: &scorev1.AttachEvent_StateChange{
		State: j.state, Message: message, Places: c.nodePlaces(j),
	}}}
}

// warn sends a sentence to present and later attachments, and reports whether it did: a job has
// maxNotes at most. Warnings of a spawned job go to the attachments of its ancestors.
func (c *controller) warn(j *job, text string) bool {
	j = j.watchedJob()
	if len(j.notes) >= maxNotes {
		return false
	}
	j.notes = append(j.notes, text)
	for _, w := range j.watchers {
		c.notify(w, warning(text))
	}
	return true
}

// warnOnce is like warn, for warnings that a program may cause many times.
func (c *controller) warnOnce(j *job, text string) bool {
	return !slices.Contains(j.watchedJob().notes, text) && c.warn(j, text)
}

// watchedJob returns the job whose attachments get the events of j.
func (j *job) watchedJob() *job {
	for j.parent != nil && len(j.watchers) == 0 {
		j = j.parent
	}
	return j
}

func warning(text string) Event {
	return Event{Message: &scorev1.AttachEvent{Event: &scorev1.AttachEvent_Warning{Warning: text}}}
}

func endedEvent(v *scorev1.Verdict) Event {
	return Event{Message: &scorev1.AttachEvent{Event: &scorev1.AttachEvent_Ended{Ended: v}}}
}
