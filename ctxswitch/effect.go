package ctxswitch

import "time"

// EffectKind is the kind of order of an effect.
type EffectKind uint8

// The kinds of effects. All orders can be carried out twice without harm.
const (
	// EffectNone is no order; a machine never returns it.
	EffectNone EffectKind = iota
	// EffectRevoke: take the job's contexts from its processes.
	EffectRevoke
	// EffectFreeze: stop all processes of the job; answer Done when they have.
	EffectFreeze
	// EffectFlush: run the protocol of the job's contexts until no message is in flight.
	EffectFlush
	// EffectSave: take the job's contexts from their channels.
	EffectSave
	// EffectLoad: put the job's contexts on their channels, unrevoked.
	EffectLoad
	// EffectThaw: let the processes of the job continue.
	EffectThaw
	// EffectLaunch: start the processes of the job, for the first time. The
	// switch does not wait for it. JobLaunched or JobRemoved answers.
	EffectLaunch
	// EffectRecord: a switch is over; Record describes it. It needs no action.
	EffectRecord
	// EffectWarn: warn the job's user, once, that the job did not stop WarnAfter times in a row or
	// more, for WarnTime.
	EffectWarn
	// EffectCostly: tell the job's user, once, how long its stops take, so that it is stopped ahead
	// of the ends of its slices.
	EffectCostly
)

// Effect is an order to the caller. Carry effects out in the order given.
type Effect struct {
	Kind   EffectKind
	Step   Step    // the step that awaits Done; Steady if another event answers, or none
	Job    JobID   // the job concerned; 0 with EffectRecord
	Seq    uint64  // distinguishes this order from earlier ones to the same job
	By     int64   // local instant until which the answer is awaited
	Late   int     // EffectWarn: freezes in a row that were late
	Record *Record // EffectRecord only; valid until seven more switches have begun
	// Cost is what a stop takes, and Slice how long the job's slice is; EffectCostly only.
	Cost, Slice time.Duration
}

// String returns the order as a word.
func (k EffectKind) String() string {
	names := [...]string{
		EffectNone: "none", EffectRevoke: "revoke", EffectFreeze: "freeze", EffectFlush: "flush",
		EffectSave: "save", EffectLoad: "load", EffectThaw: "thaw", EffectLaunch: "launch",
		EffectRecord: "record", EffectWarn: "warn", EffectCostly: "costly",
	}
	if int(k) >= len(names) {
		return "unknown"
	}
	return names[k]
}
