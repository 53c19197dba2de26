package flowctl_test

import (
	"fmt"
	"score/flowctl"
)

// Three frames cross, and the answer releases their space in the send buffer.
func Example() {
	const now, room = 1_000_000, 8 // ns; frames that the inbox can take
	cfg := flowctl.DefaultConfig()
	var s flowctl.Sender   // in the image of one rank
	var r flowctl.Receiver // in the image of the other

	s.Queue(3) // three frames lie in the send buffer
	b := s.Send(&cfg, now, 64)
	for i := range b.Count {
		d := b.Data(i)
		fmt.Println("frame", d.Seq, "accepted:", r.OnData(&cfg, now, d, room-i) == flowctl.Accept)
	}
	s.Flush(&cfg, now) // asks for an answer at once
	ask := s.Send(&cfg, now, 64)
	r.OnAsk(&cfg, now, ask.Data(0), room-3)
	fmt.Println("released:", s.OnAnswer(&cfg, now, r.Answer(&cfg, room-3)))
	// Output:
	// frame 0 accepted: true
	// frame 1 accepted: true
	// frame 2 accepted: true
	// released: 3
}
