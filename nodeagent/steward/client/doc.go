// Package client is the agent's side of a steward: it starts one in a slot,
// connects to it, gives it orders and receives its reports. It keeps no state
// of a job; the steward does, so that an agent can come and go.
//
//	process, err := client.Start(client.Slot{Exe: exe, RunDir: dir, Number: 3, Cluster: "lab", Node: "n1"})
//	...
//	conn, status, err := client.Dial(ctx, process.Socket, client.Events{
//		Message: func(m *stewardpb.FromSteward) { ... }, // one call at a time
//		Closed:  func(err error) { ... },                // the last call
//	})
//	err = conn.Prepare(order)
//	... // wait for Prepared
//	err = conn.Launch()
//
// A connection for a job's input and output is one of its own, by DialStdio: it
// blocks as long as a rank or a reader is slow, and nothing else waits for it.
package client
