package message

import "strconv"

// Command is the kind of a request.
type Command uint8

// The commands, with their numbers in all versions of the protocol since 3.
const (
	JobInfo Command = iota
	Abort
	Commit
	Fence
	Get
	Finalize
	Publish
	Lookup
	Unpublish
	Spawn
	Connect
	Disconnect
	Notify
	RegisterEvents
	DeregisterEvents
	Query
	Log
	Allocate
	JobControl
	Monitor
	GetCredential
	ValidateCredential
	PullOutput
	PushInput
	GroupConstruct
	GroupJoin
	GroupInvite
	GroupLeave
	GroupDestruct
)

var commandNames = [...]string{
	"job info", "abort", "commit", "fence", "get", "finalize", "publish", "lookup",
	"unpublish", "spawn", "connect", "disconnect", "notify", "register events", "deregister events", "query", "log",
	"allocate", "job control", "monitor", "get credential", "validate credential", "pull output", "push input",
	"group construct", "group join", "group invite", "group leave", "group destruct",
}

func (c Command) String() string {
	if int(c) < len(commandNames) {
		return commandNames[c]
	}
	return "command " + strconv.Itoa(int(c))
}
