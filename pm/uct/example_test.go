package uct_test

import (
	"fmt"
	"score/pm"
	"score/pm/local/localtest"
	"score/pm/uct"
)

// Two ranks of one process: rank 0 puts a word into memory of rank 1 and reads it back. Programs
// that scrun starts call Open instead.
func Example() {
	job, err := localtest.New(1, 2, pm.DefaultSettings())
	if err != nil {
		fmt.Println(err)
		return
	}
	defer job.Close()
	var ifaces [2]*uct.Iface
	for rank := range ifaces {
		ifaces[rank] = uct.NewWorker().Open(job.Channels[rank], uct.NewMD(0))
	}
	const key = 7
	memory := make([]byte, 16)
	if _, err := ifaces[1].MD().RegisterKey(key, memory, uct.RemoteAll); err != nil {
		fmt.Println(err)
		return
	}
	ep, err := ifaces[0].EP(1)
	if err != nil {
		fmt.Println(err)
		return
	}
	at, back := uct.Remote{Key: key, Offset: 4}, make([]byte, 5)
	var read exampleDone
	fmt.Println(ep.Put([]byte("words"), at, nil), ep.Get(back, at, &read))
	for !read {
		ifaces[1].Worker().Progress() // another process does this for itself
		ifaces[0].Worker().Progress()
	}
	fmt.Printf("%s %q\n", back, memory[4:9])
	// Output:
	// <nil> <nil>
	// words "words"
}

type exampleDone bool

func (d *exampleDone) Complete(error) { *d = true }
