package mem_test

import (
	"fmt"
	"os"
	"score/channels/procstat"
	"score/pm/mem"
	"score/pm/mem/atomics"
)

// A process makes a window, and a peer (here the same process) counts in it.
func Example() {
	w, err := mem.NewWindow(4096)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer w.Close()
	encoded := w.Handle().Encode() // goes to the peer in a message

	stat, err := procstat.Read(os.Getpid())
	if err != nil {
		fmt.Println(err)
		return
	}
	p, err := mem.NewCache(1<<20).OpenPeer(os.Getpid(), stat.Start)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer p.Close()
	h, err := mem.ParseHandle(encoded[:])
	if err != nil {
		fmt.Println(err)
		return
	}
	m, err := p.Map(h)
	if err != nil {
		fmt.Println(err)
		return
	}
	sum, _ := atomics.Lookup(atomics.Sum, atomics.Uint8)
	err = sum(m.Bytes()[8:9], []byte{42}, nil)
	fmt.Println(w.Bytes()[8], err, m.Release())
	// Output: 42 <nil> <nil>
}
