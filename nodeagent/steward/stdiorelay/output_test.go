package stdiorelay

import (
	"score/nodeagent/launch"
	"testing"

	"golang.org/x/sys/unix"
)

// A rank between fork and exec has a copy of every descriptor, so that a closed
// pipe goes on being reported: its end must count once.
func TestAnEndedStreamWithACopyEndsOnce(t *testing.T) {
	r, err := New(Events{Reader: func(bool) {}, Drained: func() {}, Lost: func(string) {}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.release)
	r.begin(&Job{ID: 1, Streams: []Stream{NewStream(0, Stdout), NewStream(1, Stdout)}, Files: NewFiles(&launch.Actor{}, nil)})
	var writers []int
	var readers []int
	for range 2 {
		var p [2]int
		if err := unix.Pipe2(p[:], unix.O_CLOEXEC|unix.O_NONBLOCK); err != nil {
			t.Fatal(err)
		}
		readers, writers = append(readers, p[0]), append(writers, p[1])
	}
	held, err := unix.Dup(readers[0])
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(held)
	defer unix.Close(writers[1])
	r.add(readers, nil)
	if err := r.watchPipes(); err != nil {
		t.Fatal(err)
	}
	unix.Close(writers[0])
	for range 3 {
		r.readOutputs()
	}
	if r.open != 1 {
		t.Errorf("%d streams are open, one has not ended", r.open)
	}
}
