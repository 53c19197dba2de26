package jobstate

import "time"

// Phase is the phase of the job's part on this node. It only grows.
type Phase uint8

const (
	// Claiming waits for the ends of former jobs, fetches the job's files and claims a steward. No
	// process of the job is here, and the switching thread does not know it.
	Claiming Phase = iota
	// Preparing has a steward, which checks program, directory and user. The switching thread knows
	// the job, unless it was killed first.
	Preparing
	// Ready has passed all checks, and waits for its row.
	Ready
	// Launched has ranks. Some may have ended.
	Launched
	// Orphaned has lost its steward. The processes that it left are being killed.
	Orphaned
	// Clearing has no process left. The job is taken from the switching thread, and its files are
	// removed.
	Clearing
	// Over has nothing here but its steward, which keeps output that may still be read. The leader
	// knows, or knows why the job could not start and may ask.
	Over
)

var phaseNames = [...]string{"claiming", "preparing", "ready", "launched", "orphaned", "clearing", "over"}

func (p Phase) String() string { return phaseNames[p] }

// Event is what has happened to the job.
type Event uint8

const (
	// Claimed: the job has a steward.
	Claimed Event = iota
	// Adopted: the job has a steward that a former agent has left, whose messages come again.
	Adopted
	// Stopped: the kill ended the job before it had a steward.
	Stopped
	// Refused: the job cannot start here. The leader knows why.
	Refused
	// Settled: the steward has its order, or will never have one.
	Settled
	// Prepared: the steward says that the job can start.
	Prepared
	// Forked: the steward says that all ranks were forked.
	Forked
	// Done: the steward says that no process of the job is left.
	Done
	// Lost: the steward has crashed. The end of an escalation means the same, without the event.
	Lost
	// Swept: the processes that a lost steward left are gone.
	Swept
	// Cleared: the switching thread and the disk have nothing of the job any more.
	Cleared
	// Kill: the job shall end.
	Kill
	// Forget: the leader has no more use for the job. Its number may be another job's at once.
	Forget
	// Tick: the deadline has passed.
	Tick
)

var eventNames = [...]string{
	"claimed", "adopted", "stopped", "refused", "settled", "prepared", "forked",
	"done", "lost", "swept", "cleared", "kill", "forget", "tick",
}

func (e Event) String() string { return eventNames[e] }

// Effect is an action for the caller. Effects are carried out in their order.
type Effect uint8

const (
	// Switch makes the switching thread know the job.
	Switch Effect = iota
	// Unswitch takes the job from the switching thread, before another can have its number.
	Unswitch
	// NoteEnding makes new jobs wait until this one is over.
	NoteEnding
	// StopStaging ends the fetching of the job's files.
	StopStaging
	// ReportDone reports to the leader that no process of the job is left, on each stream.
	ReportDone
	// RepeatDone reports that once, on this stream.
	RepeatDone
	// End makes known that the job is over.
	End
	// Retire gives the steward back, once its output has been read.
	Retire
	// Watch calls Tick at each deadline until there is none.
	Watch
	// KillSteward has the steward kill the job.
	KillSteward
	// KillQuickly kills the processes of the job without its steward, as many as it can at once.
	KillQuickly
	// KillPatiently does so for longer, since the steward does not end the job.
	KillPatiently
	// EndSteward kills the steward. Nothing need answer it: one that hangs in the kernel stays.
	EndSteward
	// ReportLoss ends the job on all nodes since its steward was lost.
	ReportLoss
	// Sweep kills what a lost steward has left; Swept answers it.
	Sweep
	// ReportKilled reports that the ranks that are Left died with their steward. The job goes
	// on without them.
	ReportKilled
	// Clear removes what the job has here; Cleared answers it.
	Clear
)

var effectNames = [...]string{
	"switch", "unswitch", "note-ending", "stop-staging", "report-done", "repeat-done",
	"end", "retire", "watch", "kill-steward", "kill-quickly", "kill-patiently", "end-steward", "report-loss", "sweep",
	"report-killed", "clear",
}

func (e Effect) String() string { return effectNames[e] }

const (
	// KillAlone is how long a steward has for a kill before the agent kills, too, and again: the
	// kernel takes milliseconds. A steward whose rank was frozen while it was being forked can do
	// nothing until that rank goes on, or ends; on a busy machine the rank may be forked late.
	KillAlone = 50 * time.Millisecond
	// KillTimeout is how long a steward may take to report the end of the job before its container
	// is killed patiently, and after that before the steward is killed.
	KillTimeout = 3 * time.Second
)

// Config holds what the machine must know of a job.
type Config struct {
	Ranks []uint32 // of this node
	// Recover: the job goes on when it has lost ranks.
	Recover bool
}
