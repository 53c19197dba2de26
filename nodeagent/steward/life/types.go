package life

import "time"

// Phase is the state of the job's part on this node.
type Phase uint8

const (
	// Free: the steward is warm and waits for a job.
	Free Phase = iota
	// Preparing: program, directory and files are being checked, and descriptors made. No process
	// of the job exists.
	Preparing
	// Ready: everything that can fail beforehand has succeeded. The job waits
	// for its first slice. No process of it exists.
	Ready
	// Starting: ranks are being forked, one after the other. Some may have
	// ended already.
	Starting
	// Running: all ranks have been forked.
	Running
	// Sweeping: every rank has been reaped; what they left behind is killed.
	Sweeping
	// Over: no process of the job exists. Output may still wait for a reader, and the agent may
	// still ask how the job ended.
	Over
	// Renewing: the job is not needed any more, and the steward is being reset for the next one.
	Renewing
	// Gone: the steward must exit.
	Gone
)

var phaseNames = [...]string{"free", "preparing", "ready", "starting", "running", "sweeping", "over", "renewing", "gone"}

func (p Phase) String() string { return phaseNames[p] }

// RankState is the state of one local rank.
type RankState uint8

const (
	// Unborn: not forked yet, or never.
	Unborn RankState = iota
	// Alive: forked and not reaped.
	Alive
	// Dead: reaped.
	Dead
)

// Exit describes the end of a rank.
type Exit struct {
	Code        int // when Signal is 0
	Signal      int
	CoreDumped  bool
	OutOfMemory bool // the kernel killed it for the job's memory limit
	// The machine sets the following fields.
	BeforeFinalize bool // it had spoken PMI and not said good-bye
	ByUs           bool // it died by a kill that the machine ordered
	Survived       bool // a failure, after which the gang goes on without the rank
}

// sigkill is the signal by which a rank dies after Kill.
const sigkill = 9

// Rules holds the options of a job.
type Rules struct {
	Ranks         int  // local ranks
	KillOnBadExit bool // any exit code but zero ends the gang
	Detached      bool // the output is not kept for a reader
	// Recover: a rank that fails does not end the gang. Respawn is how often it is started again.
	Recover bool
	Respawn int
	// Silent: warn if no rank speaks PMI, since the program looks like MPI and
	// the job has more than one rank.
	Silent bool
}

// Config holds the options of the steward.
type Config struct {
	// Grace is how long the job goes on without an agent; 0: it ends at once.
	Grace time.Duration
}

const (
	// firstContact is the least time that a new steward waits for its agent: the agent connects
	// right after starting it, so only a dead agent takes longer.
	firstContact = 10 * time.Second
	// silenceNote is the delay of the warning about a job that looks like MPI and never speaks PMI.
	// On a busy node, or in turn with other gangs, sixteen ranks of Open MPI may need more than ten
	// seconds until the first of them does.
	silenceNote = 30 * time.Second
	// exitAfterClose is how long a rank may live on after closing its PMI
	// connection without finalize. Dying closes it too, a moment before the exit
	// status is known, and the status is the better reason to report.
	exitAfterClose = time.Second
	// forgetWait is how long the end of a job is kept for a connected agent that has not reported
	// it as committed: longer than the election of a leader.
	forgetWait = 10 * time.Minute
	// drainLinger is how long output is kept for a reader after the job was forgotten: readers
	// connect when the job starts, so a reader that takes longer will never come.
	drainLinger = 10 * time.Second
	// renewWait bounds Renewing. It takes microseconds, unless a process outside the job holds a
	// descriptor of the ranks.
	renewWait = time.Second
	// maxJobs is the number of jobs that one steward serves. It bounds the sum of leaks, and
	// spreads the cost of starting a process, some 10 ms of CPU time, over enough jobs to be
	// negligible.
	maxJobs = 256
	// MaxRespawns bounds how often a rank is started again, whatever was asked for: a rank that
	// fails at once must not fork for ever.
	MaxRespawns = 1000
)

// OrderKind is the kind of an Order.
type OrderKind uint8

const (
	// Start forks the ranks.
	Start OrderKind = iota
	// Kill ends all ranks now, and the forking if it is under way.
	Kill
	// Sweep ends whatever the ranks left behind; Swept answers it.
	Sweep
	// ReportLaunched tells the agent that all ranks run.
	ReportLaunched
	// ReportExit tells the agent of the end of rank Order.Rank.
	ReportExit
	// Respawn forks rank Order.Rank again, as incarnation Order.Incarnation; Respawned or
	// RespawnFailed answers it.
	Respawn
	// ReportAbort tells the agent why the gang must end (Order.Abort).
	ReportAbort
	// ReportDone tells the agent that no process of the job is left.
	ReportDone
	// NoteSilence tells the user that no rank spoke PMI.
	NoteSilence
	// Renew resets the steward to its state before the job; Renewed answers it.
	Renew
	// ReportFree tells the agent that the steward waits for a job again.
	ReportFree
	// Leave ends the steward.
	Leave
)

var orderNames = [...]string{
	"start", "kill", "sweep", "report-launched", "report-exit", "respawn",
	"report-abort", "report-done", "note-silence", "renew", "report-free", "leave",
}

func (k OrderKind) String() string { return orderNames[k] }

// Order is one thing to do. Orders must be carried out in turn.
type Order struct {
	Kind  OrderKind
	Rank  int // local index, for ReportExit and Respawn
	Abort Abort
	// Incarnation is the number of the rank's processes before the one that Respawn forks.
	Incarnation int
}

// Abort is a reason to end the gang other than a rank's death.
type Abort struct {
	Rank     int // local index, or -1
	ExitCode int // what the job should exit with
	Message  string
	Lapsed   bool // the lease has expired, see Machine.Lease
}
