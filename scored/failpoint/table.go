package failpoint

// Point is a place in the work of a daemon.
type Point uint8

// The points; Table has their meanings.
const (
	SwitchRevokeBegin Point = iota
	SwitchRevokeEnd
	SwitchStopBegin
	SwitchStopEnd
	SwitchFlushBegin
	SwitchFlushEnd
	SwitchSaveBegin
	SwitchSaveEnd
	SwitchLoadBegin
	SwitchLoadEnd
	SwitchGoBegin
	SwitchGoEnd
	PlanArrived
	PrepareArrived
	PrepareEnd
	LaunchBegin
	LaunchEnd
	ExitReport
	DoneReport
	ClockSample
	ProposeBegin
	ProposeEnd
	CommitBegin
	CommitEnd
	PlanPush
	LaunchArrived
	ExitArrived
	LogStore
	LogStored
)

// pointCount is how many there are.
const pointCount = int(LogStored) + 1

// can is the set of actions of a point besides kill, stop and delay.
type can uint8

const (
	canFail  can = 1 << iota // error: the work there fails
	canShift                 // shift: a value there is another one
)

// Info describes a point.
type Info struct {
	Point         Point
	Name, Meaning string

	can can
}

// Table describes every point, in the order of their numbers. Those of the switch are
// passed once for each job that has part in the step.
var Table = [pointCount]Info{
	{SwitchRevokeBegin, "switch.revoke.begin", "A job's contexts are about to be taken from its processes.", 0},
	{SwitchRevokeEnd, "switch.revoke.end", "They have been; the switching thread does not know yet.", 0},
	{SwitchStopBegin, "switch.stop.begin", "A job is about to be frozen.", 0},
	{SwitchStopEnd, "switch.stop.end", "It stands still; the switching thread does not know yet.", 0},
	{SwitchFlushBegin, "switch.flush.begin", "A job's contexts are about to be driven until all is answered.", 0},
	{SwitchFlushEnd, "switch.flush.end", "They have been; the switching thread does not know yet.", 0},
	{SwitchSaveBegin, "switch.save.begin", "A job's contexts are about to leave their channels.", 0},
	{SwitchSaveEnd, "switch.save.end", "They have left; the switching thread does not know yet.", 0},
	{SwitchLoadBegin, "switch.load.begin", "A job's contexts are about to come to their channels.", 0},
	{SwitchLoadEnd, "switch.load.end", "They have come; the switching thread does not know yet.", 0},
	{SwitchGoBegin, "switch.go.begin", "A job is about to be thawed.", 0},
	{SwitchGoEnd, "switch.go.end", "It has been; the switching thread does not know yet.", 0},
	{PlanArrived, "plan.arrived", "An agent has received a plan and not handed it on.", 0},
	{PrepareArrived, "prepare.arrived", "An agent has received the order to prepare a job and done nothing.", 0},
	{PrepareEnd, "prepare.end", "A job is ready on the node; the leader has not been told.", 0},
	{LaunchBegin, "launch.begin", "The switching thread is about to have a job launched.", canFail},
	{LaunchEnd, "launch.end", "All ranks of the node exist; neither the switching thread nor the leader has been told.", 0},
	{ExitReport, "exit.report", "A rank has ended; the leader has not been told.", 0},
	{DoneReport, "done.report", "Nothing of a job is left on the node; the leader has not been told.", 0},
	{ClockSample, "clock.sample", "A heartbeat has come back; shift is added to the leader's clock.", canShift},
	{ProposeBegin, "propose.begin", "The leader has decided on an entry; the log does not have it.", canFail},
	{ProposeEnd, "propose.end", "The log has been handed an entry; whether it will be committed is not known.", 0},
	{CommitBegin, "commit.begin", "An entry is committed; the state of this server does not have it yet.", 0},
	{CommitEnd, "commit.end", "An entry is committed and in the state; nobody has been told.", canFail},
	{PlanPush, "plan.push", "A plan is about to be sent to an agent.", 0},
	{LaunchArrived, "launch.arrived", "A node says that it has launched a job; the leader does not know yet.", 0},
	{ExitArrived, "exit.arrived", "A node says that a rank has ended; the leader does not know yet.", 0},
	{LogStore, "log.store", "A server is about to write entries, its term or its vote to its disk.", canFail},
	{LogStored, "log.stored", "They are on the disk; the server does not know yet.", 0},
}

// String returns the point's name.
func (p Point) String() string {
	if int(p) >= pointCount {
		return "unknown"
	}
	return Table[p].Name
}
