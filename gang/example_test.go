package gang_test

import (
	"fmt"
	"score/gang"
	"time"
)

// Two jobs share the CPUs of one node in time.
func Example() {
	m := gang.New(gang.Config{Slice: 100 * time.Millisecond})
	if err := m.AddNode(gang.Node{ID: "n1", CPUs: 2}); err != nil {
		panic(err)
	}
	for id := gang.JobID(1); id <= 2; id++ {
		if err := m.Submit(gang.Request{ID: id, Tasks: 2}); err != nil {
			fmt.Println(err) // one sentence for the user; nothing has changed
		}
	}
	now := int64(0)
	for _, a := range m.Schedule(now).Start {
		// The caller makes a durable, then prepares the nodes in a.Places.
		fmt.Printf("job %d: row %d, %v\n", a.Job, a.Row, a.Places)
	}
	plan := gang.Next(gang.Rotation{}, m.Rows(), now, 10*time.Millisecond)
	pos, _, _, _ := plan.At(int64(150 * time.Millisecond))
	fmt.Println("after 150 ms:", plan.Rows[pos].Jobs)
	// Output:
	// job 1: row 0, [{n1 [0 1] [0 1]}]
	// job 2: row 1, [{n1 [0 1] [0 1]}]
	// after 150 ms: [2]
}
