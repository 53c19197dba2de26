package channels_test

import (
	"fmt"
	"score/channels"
	"score/channels/abi"
)

// A message from rank 1 to rank 0 of a job on one node.
func Example() {
	identity := channels.Identity{Job: 7, Rank: 0}
	img, err := channels.Create(identity, abi.Geometry{Ranks: 2, LocalRanks: 2}, []uint32{0, 1})
	if err != nil {
		panic(err)
	}
	defer img.Close()

	out, err := img.Sender(1)
	if err != nil {
		panic(err)
	}
	if err := out.Send([]byte("hello")); err != nil { // ErrFull, ErrGone, ...
		panic(err)
	}

	in, err := img.Inbox(nil)
	if err != nil {
		panic(err)
	}
	m, ok := in.Poll()
	for !ok { // a poll looks at a part of the rings
		m, ok = in.Poll()
	}
	fmt.Printf("rank %d says %s\n", m.Rank(), m.Head())
	in.Release(m)
	// Output: rank 1 says hello
}
