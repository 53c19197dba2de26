package jobstate

import "time"

// Phase is the phase of the job's part on this node. It never decreases.
type Phase uint8

const (
	// Claiming: the job waits for the ends of former jobs, fetches its files and claims a steward.
	// It has no process here, and the switching thread does not know it.
	Claiming Phase = iota
	// Preparing: the steward checks program, directory and user. The switching thread knows the
	// job, unless it was killed first.
	Preparing
	// Ready: the job has passed all checks, and waits for its row.
	Ready
	// Launched: the ranks were forked. Some may have ended.
	Launched
	// Orphaned: the steward is lost. The remaining processes are being killed.
	Orphaned
	// Clearing: no process is left. The job is removed from the switching thread, and its files are
	// removed.
	Clearing
	// Over: only the steward is left, with output that may still be read. The leader knows the end,
	// or why the job could not start.
	Over
)

var phaseNames = [...]string{"claiming", "preparing", "ready", "launched", "orphaned", "clearing", "over"}

func (p Phase) String() string { return phaseNames[p] }

// Event is an input of the machine.
type Event uint8

const (
	// Claimed: the job has a steward.
	Claimed Event = iota
	// Adopted: the job has a steward that a former agent has left, whose messages come again.
	Adopted
	// Stopped: a kill ended the job before it had a steward.
	Stopped
	// Refused: the job cannot start here. The leader knows the reason.
	Refused
	// Settled: the steward has its order, or will never have one.
	Settled
	// Prepared: the steward reports that the job can start.
	Prepared
	// Forked: the steward reports that all ranks were forked.
	Forked
	// Done: the steward reports that no process of the job is left.
	Done
	// Lost: the steward has crashed. The end of an escalation has the same effect.
	Lost
	// Swept: the processes that a lost steward left are gone.
	Swept
	// Cleared: the job was removed from the switching thread and the disk.
	Cleared
	// Kill: the job shall end.
	Kill
	// Forget: the leader has forgotten the job. Another job may get its number at once.
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
	// Switch adds the job to the switching thread.
	Switch Effect = iota
	// Unswitch removes the job from the switching thread, before another job can get its number.
	Unswitch
	// NoteEnding makes new jobs wait until this one is over.
	NoteEnding
	// StopStaging cancels the fetch of the job's files.
	StopStaging
	// ReportDone reports to the leader that no process of the job is left, on each stream.
	ReportDone
	// RepeatDone reports the same once, on the present stream.
	RepeatDone
	// End announces on the node that the job is over.
	End
	// Retire returns the steward to the pool, after its output was read.
	Retire
	// Watch calls Tick at each deadline until there is none.
	Watch
	// KillSteward orders the steward to kill the job.
	KillSteward
	// KillQuickly makes one short attempt to kill the job's processes without its steward.
	KillQuickly
	// KillPatiently makes a longer attempt, since the steward does not end the job.
	KillPatiently
	// EndSteward kills the steward. No answer need follow: a steward that hangs in the kernel
	// stays.
	EndSteward
	// ReportLoss ends the job on all nodes, since its steward was lost.
	ReportLoss
	// Sweep kills the processes that a lost steward has left; Swept answers it.
	Sweep
	// ReportKilled reports that the ranks of Machine.Left died with their steward. The job goes on
	// without them.
	ReportKilled
	// Clear removes the job from the switching thread and its files; Cleared answers it.
	Clear
)

var effectNames = [...]string{
	"switch", "unswitch", "note-ending", "stop-staging", "report-done", "repeat-done",
	"end", "retire", "watch", "kill-steward", "kill-quickly", "kill-patiently", "end-steward", "report-loss", "sweep",
	"report-killed", "clear",
}

func (e Effect) String() string { return effectNames[e] }

const (
	// KillAlone is how long a steward has for a kill before the agent kills, too, and the pause
	// between the agent's attempts: the kernel takes milliseconds. A steward whose rank was frozen
	// while it was being forked is blocked until that rank goes on or ends; on a busy machine the
	// rank may be forked late.
	KillAlone = 50 * time.Millisecond
	// KillTimeout is how long a steward may take to report the end of the job before its container
	// is killed patiently, and after that before the steward is killed.
	KillTimeout = 3 * time.Second
)

// Config describes a job to the machine.
type Config struct {
	Ranks []uint32 // of this node
	// Recover means that the job goes on after it has lost ranks.
	Recover bool
	// Explains means that the steward writes why the job did not start: it gets its order also if
	// the job is killed first.
	Explains bool
}
