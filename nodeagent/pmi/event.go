package pmi

// EventKind says what an Event is.
type EventKind uint8

// The first five, EventCard and EventGroup answer requests that were held; front ends encode them.
// The others go to the server around the engine.
const (
	// EventReleased: Rank leaves the fence it entered with Tag; with the Outcome Missing there was
	// none, for the reason Value.
	EventReleased EventKind = iota + 1
	// EventRing: Rank's ring request Tag is answered by Ring.
	EventRing
	// EventAttr: Rank's wait for a node attribute is over; Value holds it.
	EventAttr
	// EventNameAnswer: Rank's request NameOp is answered by OK and Value.
	EventNameAnswer
	// EventSpawnAnswer: Rank's spawn request is answered by SpawnResult.
	EventSpawnAnswer
	// EventContact: Rank spoke for the first time.
	EventContact
	// EventFenceReady: all ranks here are in fence Seq; Data is what this node
	// puts into the exchange; the caller may keep it.
	EventFenceReady
	// EventNameOp: the name table is asked; Engine.NameResult answers.
	EventNameOp
	// EventSpawn: new processes are asked for; Engine.SpawnResult answers.
	EventSpawn
	// EventAbort: Rank ends the job with exit code Code.
	EventAbort
	// EventRespawn: Rank asks to be started again Code times when it fails.
	EventRespawn
	// EventFinalized: Rank is done with PMI.
	EventFinalized
	// EventCard: Rank's fetch Tag of the keys of rank Of of Job (0: its own) is
	// answered by Outcome and Pairs; with Of -1 it asked for the job's places.
	EventCard
	// EventGroup: Rank's collective Tag of some processes is over; OK is false
	// when one of them cannot come any more.
	EventGroup
	// EventNotice: Rank gets Notice; it has registered for such events.
	EventNotice
	// EventRelay: forward Data once to the engine of node Node of Job (Relayed). Order does not
	// matter. If it cannot be delivered, call RelayFailed.
	EventRelay
	// EventPlaces: find out where the ranks of Job are; PlacesResult answers.
	EventPlaces
)

// Event is an output of the engine. Only the fields named at its kind are set.
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
	// Job and Node are an address, or Job and Of a process.
	Job     uint64
	Node    int
	Of      int
	Outcome Outcome
	Pairs   []KV
	Notice  *Notice
}

// Tag is a front end's identifier of a request; the answer carries it back.
// Clients with threads have several requests open at once.
type Tag uint64

// Ring is one rank's view of a ring of values (Slurm's PMIX_Ring): asked with
// the rank's own two values and a weight, answered with the neighbours' and
// the sum of weights before it.
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
	// Port is what is published; it may be empty.
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
	// MaxProcs is the number of processes asked for, at least 1.
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
	// Apps are started as one job, ranks numbered through.
	Apps []SpawnApp
	// Preput must be the new job's JobInfo.Preput.
	Preput map[string]string
}

// Procs returns the number of processes asked for.
func (r *SpawnRequest) Procs() int {
	total := 0
	for i := range r.Apps {
		total += r.Apps[i].MaxProcs
	}
	return total
}

// SpawnResult answers a SpawnRequest.
type SpawnResult struct {
	// Failed is a sentence that says why there is no new job; empty on success.
	Failed string
	// KVSName names the new job.
	KVSName string
	// ErrCodes has one code for each requested process, 0 for a started one;
	// nil means that all started.
	ErrCodes []int
}
