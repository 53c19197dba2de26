package ctxswitch

// EffectKind is the kind of an effect.
type EffectKind uint8

// The kinds of effects. All orders can be carried out twice without harm.
const (
	// EffectNone is no order; a machine never gives it.
	EffectNone EffectKind = iota
	// EffectRevoke: take the job's contexts away from its processes.
	EffectRevoke
	// EffectFreeze: stop all processes of the job; answer Done when they have stopped.
	EffectFreeze
	// EffectFlush: drive the job's contexts until nothing is in flight.
	EffectFlush
	// EffectSave: remove the job's contexts from their channels.
	EffectSave
	// EffectLoad: put the job's contexts on their channels, and return them to its processes.
	EffectLoad
	// EffectThaw: let the processes of the job continue.
	EffectThaw
	// EffectLaunch: start the processes of the job, for the first time. The
	// switch does not wait for it. JobLaunched or JobRemoved answers.
	EffectLaunch
	// EffectRecord: a switch is over; Record describes it. It is no order.
	EffectRecord
	// EffectWarn: warn the job's user that it did not stop in time WarnAfter times in a row. It
	// comes once for a job.
	EffectWarn
)

// Effect is a task for the caller. Effects must be carried out in the order given.
type Effect struct {
	Kind   EffectKind
	Step   Step    // the step that waits for Done; Steady if another event answers
	Job    JobID   // the job concerned; 0 for EffectRecord
	Seq    uint64  // distinguishes the orders to a job
	By     int64   // local instant at which the wait for the answer ends
	Late   int     // EffectWarn: freezes in a row that were late
	Record *Record // EffectRecord: the switch; valid until seven more switches have begun
}

// String returns the order as a word.
func (k EffectKind) String() string {
	names := [...]string{
		EffectNone: "none", EffectRevoke: "revoke", EffectFreeze: "freeze", EffectFlush: "flush",
		EffectSave: "save", EffectLoad: "load", EffectThaw: "thaw", EffectLaunch: "launch",
		EffectRecord: "record", EffectWarn: "warn",
	}
	if int(k) >= len(names) {
		return "unknown"
	}
	return names[k]
}
