package pmi

// EventKind is the kind of an Event.
type EventKind uint8

// The first five kinds, EventCard and EventGroup answer held requests; front ends encode them. The
// others go to the server around the engine.
const (
	// EventReleased: Rank leaves the fence that it entered with Tag. With the Outcome Missing the
	// fence failed, for the reason Value.
	EventReleased EventKind = iota + 1
	// EventRing: Ring answers Rank's ring request Tag.
	EventRing
	// EventAttr: Rank's wait for a node attribute is over; Value holds it.
	EventAttr
	// EventNameAnswer: OK and Value answer Rank's request NameOp; see Engine.NameResult.
	EventNameAnswer
	// EventSpawnAnswer: SpawnResult answers Rank's spawn request.
	EventSpawnAnswer
	// EventContact: Rank spoke for the first time.
	EventContact
	// EventFenceReady: all ranks here are in fence Seq; Data is this node's part of the exchange,
	// which the caller may keep.
	EventFenceReady
	// EventNameOp: a request to the name table; Engine.NameResult answers.
	EventNameOp
	// EventSpawn: a request for new processes; Engine.SpawnResult answers.
	EventSpawn
	// EventAbort: Rank ends the job with exit code Code.
	EventAbort
	// EventRespawn: Rank asks to be started again Code times when it fails.
	EventRespawn
	// EventFinalized: Rank is done with PMI.
	EventFinalized
	// EventCard: Outcome and Pairs answer Rank's fetch Tag of the keys of rank Of of Job (0: its
	// own). With Of -1 it asked for the job's places.
	EventCard
	// EventGroup: Rank's collective Tag of some processes (Group) is over; OK is false if one of
	// them cannot join any more.
	EventGroup
	// EventNotice: Rank gets Notice; it has registered for such events.
	EventNotice
	// EventRelay: forward Data once to the engine of node Node of Job (Relayed). Order does not
	// matter. If it cannot be delivered, call RelayFailed.
	EventRelay
	// EventPlaces: find out where the ranks of Job are; PlacesResult answers.
	EventPlaces
)

// Event is an output of the engine. Only the fields that its kind mentions are set.
type Event struct {
	Kind   EventKind
	Rank   int
	Tag    Tag
	Seq    uint64
	Data   []byte
	Value  string
	OK     bool
	Code   int
	Name   NameOp
	Ring   Ring
	Spawn  *SpawnRequest
	Result *SpawnResult
	// Job and Node name a node of a job; Job and Of name a process.
	Job     uint64
	Node    int
	Of      int
	Outcome Outcome
	Pairs   []KV
	Notice  *Notice
	Group   GroupResult
}

// GroupResult describes a collective of some processes that is over.
type GroupResult struct {
	Kind  GroupKind
	Procs []Proc
	// Number is the same for all processes of a construct, and differs from that of any other.
	Number uint64
}

// Tag is a front end's identifier of a request, which the answer repeats. Clients with threads have
// several requests open at once.
type Tag uint64

// Ring is one rank's view of a ring of values (Slurm's PMIX_Ring). A request has the rank's own two
// values and a weight, the answer its neighbours' values and the sum of the weights before it.
type Ring struct {
	Count int64
	Left  string
	Right string
}

// NameKind is an operation on the name table.
type NameKind uint8

// Operations on the name table.
const (
	NamePublish NameKind = iota + 1
	NameLookup
	NameUnpublish
)

// NameOp is a request to the name table.
type NameOp struct {
	// ID is returned with the result.
	ID   uint64
	Kind NameKind
	// Service is the published name; 1 to MaxValue bytes.
	Service string
	// Port is the published value; it may be empty.
	Port string
	// Wait makes a lookup wait until the name is published. Once removes the
	// name after its first lookup.
	Wait, Once bool
}

// KV is a key and its value.
type KV struct{ Key, Value string }

// SpawnApp is one command of a spawn request.
type SpawnApp struct {
	Command string
	// Args are the arguments after the command's own name.
	Args []string
	// MaxProcs is the requested number of processes, at least 1.
	MaxProcs int
	// Env are variables, NAME=value, that are added to the spawner's.
	Env []string
	// Info holds the hints, such as wdir, path and host. A relative Command is
	// resolved before wdir is entered.
	Info []KV
}

// SpawnRequest asks for a new job.
type SpawnRequest struct {
	// ID is returned with the result.
	ID uint64
	// Apps are started as one job; the ranks are numbered consecutively.
	Apps []SpawnApp
	// Preput must be the new job's JobInfo.Preput.
	Preput map[string]string
}

// SpawnResult answers a SpawnRequest.
type SpawnResult struct {
	// Failed is the reason why there is no new job, a sentence; empty on success.
	Failed string
	// KVSName names the new job.
	KVSName string
	// ErrCodes has one code for each requested process, 0 for a started one;
	// nil means that all started.
	ErrCodes []int
}
