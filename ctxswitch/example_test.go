package ctxswitch_test

import (
	"fmt"
	"score/ctxswitch"
	"time"
)

// A node follows a plan of two rows. The caller carries out each effect and reports it as done;
// here every order is carried out at once.
func Example() {
	m := ctxswitch.New(ctxswitch.Config{})
	now := int64(0)
	handle := func(event ctxswitch.Event) {
		todo := append([]ctxswitch.Effect(nil), m.Handle(now, event)...)
		for len(todo) > 0 {
			effect := todo[0]
			todo = todo[1:]
			switch effect.Kind {
			case ctxswitch.EffectRecord:
				continue
			case ctxswitch.EffectLaunch:
				event = ctxswitch.JobLaunched(effect.Job)
			default:
				event = ctxswitch.Done(effect)
			}
			fmt.Println(time.Duration(now), effect.Kind, effect.Job)
			todo = append(todo, m.Handle(now, event)...)
		}
	}
	handle(ctxswitch.JobAdded(1, 0))
	handle(ctxswitch.JobAdded(2, 0))
	handle(ctxswitch.OffsetChanged(1, 0))
	handle(ctxswitch.PlanArrived(&ctxswitch.Plan{Term: 1, Version: 1, Rows: []ctxswitch.Row{
		{Index: 0, Slice: 100 * time.Millisecond, Jobs: []ctxswitch.JobID{1}},
		{Index: 1, Slice: 100 * time.Millisecond, Jobs: []ctxswitch.JobID{2}},
	}}))
	for range 2 {
		now = m.Deadline()
		handle(ctxswitch.Tick())
	}
	// Output:
	// 0s launch 1
	// 100ms freeze 1
	// 100ms launch 2
	// 200ms freeze 2
	// 200ms thaw 1
}
