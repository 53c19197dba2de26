package stdiorelay

import (
	"bytes"
	"io"
	"os"
	"score/nodeagent/launch"
	"score/nodeagent/steward/loop"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// refused gives a relay work while the kernel refuses to watch anything, and then serves until the
// end of the test.
func refused(t *testing.T, files *Files, work func(r *Relay)) (delayed *[]string) {
	t.Helper()
	delayed = new([]string)
	r, err := New(Events{
		Reader: func(bool) {}, Drained: func() {}, Lost: func(text string) { t.Error(text) },
		Delayed: func(text string) { *delayed = append(*delayed, text) },
	})
	if err != nil {
		t.Fatal(err)
	}
	r.begin(&Job{ID: 1, Streams: []Stream{NewStream(0, Stdout)}, Files: files})
	ours, pipes := r.loop, r.pipes
	r.loop, r.input.loop, r.pipes = &loop.Loop{}, &loop.Loop{}, loop.Set{} // their set is no epoll set
	work(r)
	for range 2 {
		r.settle()
	}
	r.loop, r.input.loop, r.pipes = ours, ours, pipes
	go r.Run()
	t.Cleanup(r.Stop)
	return delayed
}

func nonblockingPipe(t *testing.T) (read, write int) {
	t.Helper()
	var p [2]int
	if err := unix.Pipe2(p[:], unix.O_CLOEXEC|unix.O_NONBLOCK); err != nil {
		t.Fatal(err)
	}
	return p[0], p[1]
}

// A rank whose input the kernel refused to watch gets the rest of it when the kernel has room
// again.
func TestInputGoesOnAfterARefusedWatch(t *testing.T) {
	read, write := nonblockingPipe(t)
	rank := os.NewFile(uintptr(read), "rank")
	defer rank.Close()
	text := bytes.Repeat([]byte("more than a pipe has"), 10_000)
	delayed := refused(t, nil, func(r *Relay) {
		r.input.addSinks([]int{write})
		r.input.markComplete()
		r.input.deliver(text, true)
	})
	if err := rank.SetDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(rank); err != nil || !bytes.Equal(got, text) {
		t.Errorf("the rank got %d bytes of %d (%v)", len(got), len(text), err)
	}
	if len(*delayed) != 1 {
		t.Errorf("the user is told %q, want one sentence", *delayed)
	}
}

// Output that the kernel refused to watch is read when it has room again.
func TestOutputGoesOnAfterARefusedWatch(t *testing.T) {
	read, write := nonblockingPipe(t)
	files := NewFiles(&launch.Actor{}, nil)
	delayed := refused(t, files, func(r *Relay) {
		r.add([]int{read}, nil)
		r.complete()
	})
	unix.Close(write)
	select {
	case <-files.Stored():
	case <-time.After(time.Minute):
		t.Error("the output was not read to its end")
	}
	if len(*delayed) != 1 {
		t.Errorf("the user is told %q, want one sentence", *delayed)
	}
}
