package ctxswitch

// EffectKind says what an effect orders.
type EffectKind uint8

// The kinds of effects. All orders can be carried out twice without harm.
const (
	// EffectNone is no order; a machine never gives it.
	EffectNone EffectKind = iota
	// EffectRevoke: take the job's contexts out of the hands of its processes.
	EffectRevoke
	// EffectFreeze: stop all processes of the job; answer Done when they have.
	EffectFreeze
	// EffectFlush: drive the job's contexts until nothing is in flight.
	EffectFlush
	// EffectSave: take the job's contexts from their channels.
	EffectSave
	// EffectLoad: put the job's contexts on their channels, unrevoked.
	EffectLoad
	// EffectThaw: let the processes of the job run on.
	EffectThaw
	// EffectLaunch: start the processes of the job, for the first time. The
	// switch does not wait for it. JobLaunched or JobRemoved answers.
	EffectLaunch
	// EffectRecord: a switch is over, Record says how it went. Nothing to do.
	EffectRecord
	// EffectWarn: tell the job's user that it did not stop in time WarnAfter
	// times in a row; it is told once.
	EffectWarn
)

// Effect is something to be done, in the order given.
type Effect struct {
	Kind   EffectKind
	Step   Step    // the step that waits for Done; Steady if the answer is another
	Job    JobID   // whom it concerns; 0 with EffectRecord
	Seq    uint64  // tells this order from an earlier one to the same job
	By     int64   // local instant until which the answer is waited for
	Late   int     // EffectWarn: freezes in a row that were late
	Record *Record // EffectRecord: how it went; good until seven more switches have begun
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
