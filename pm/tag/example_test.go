package tag_test

import (
	"fmt"
	"score/pm"
	"score/pm/local/localtest"
	"score/pm/tag"
	"score/pm/uct"
)

// Two ranks of one process: rank 1 asks for the message with tag 2 first. Programs that scrun
// starts call Open and Wait instead.
func Example() {
	job, err := localtest.New(1, 2, pm.DefaultSettings())
	if err != nil {
		fmt.Println(err)
		return
	}
	defer job.Close()
	var ends [2]*tag.Endpoint
	for rank := range ends {
		md := uct.NewMD(0)
		if ends[rank], err = tag.NewStack(uct.NewWorker().Open(job.Channels[rank], md), md, tag.Settings{}).Open(0); err != nil {
			fmt.Println(err)
			return
		}
	}
	var sends, receives [2]tag.Op
	for i, text := range []string{"first", "second"} {
		if err := ends[0].Send(&sends[i], tag.Peer{Rank: 1}, uint64(i+1), []byte(text)); err != nil {
			fmt.Println(err)
		}
	}
	for i, want := range []uint64{2, 1} {
		c := tag.Criteria{Source: tag.AnyPeer, Tag: want}
		if err := ends[1].Receive(&receives[i], c, make([]byte, 10)); err != nil {
			fmt.Println(err)
		}
		for !receives[i].Done() {
			ends[1].Iface().Worker().Progress()
		}
		fmt.Printf("%s from rank %d\n", receives[i].Bytes, receives[i].From.Rank)
	}
	// Output:
	// second from rank 0
	// first from rank 0
}
