package steward

import (
	"bytes"
	"errors"
	"io"
	"score/nodeagent/launch"
	"score/nodeagent/steward/stewardpb"
	"score/scored/api/scorev1"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// withOpenFiles sets the limit for one test.
func withOpenFiles(t *testing.T, n uint64) {
	t.Helper()
	var before unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &before); err != nil {
		t.Fatal(err)
	}
	now := before
	now.Cur = n
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &now); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &before); err != nil {
			t.Error(err)
		}
	})
}

func testLoop(t *testing.T) *loop {
	t.Helper()
	l, err := newLoop()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(l.close)
	return l
}

func TestPostedRunsInOrderAndOnce(t *testing.T) {
	const posters, each = 8, 500
	l := testLoop(t)
	var wg sync.WaitGroup
	next := make([]int, posters)
	done := 0
	for p := range posters {
		wg.Go(func() {
			for i := range each {
				l.post(func() {
					if next[p] != i {
						t.Errorf("poster %d: call %d came when %d was due", p, i, next[p])
					}
					next[p]++
					done++
				})
			}
		})
	}
	for deadline := time.Now().Add(time.Minute); done < posters*each; {
		events, err := l.wait(deadline)
		if err != nil || len(events) == 0 {
			t.Fatalf("%d of %d ran (%v)", done, posters*each, err)
		}
		for i := range events {
			if tagOf(&events[i]).kind == kindWake {
				l.runPosted()
			}
		}
	}
	wg.Wait()
}

func TestWhatIsPostedByAPostedCallRunsToo(t *testing.T) {
	l := testLoop(t)
	ran := false
	l.post(func() { l.post(func() { ran = true }) })
	for range 2 {
		if events, err := l.wait(time.Now().Add(time.Minute)); err != nil || len(events) != 1 {
			t.Fatalf("%d events (%v)", len(events), err)
		}
		l.runPosted()
	}
	if !ran {
		t.Error("it did not run")
	}
}

// A loop at work waits in the kernel, one that has rested in Go's poller: either hears what comes
// and what is due.
func TestALoopHearsWhereverItWaits(t *testing.T) {
	for _, rested := range []bool{false, true} {
		l := testLoop(t)
		came := false
		var poster sync.WaitGroup
		poster.Go(func() { l.post(func() { came = true }) })
		for !came {
			l.rested = rested
			if events, err := l.wait(time.Time{}); err != nil || len(events) != 1 {
				t.Fatalf("%d events, %v", len(events), err)
			}
			l.runPosted()
		}
		poster.Wait()
		for _, wait := range []time.Duration{0, lingerMillis * time.Millisecond / 4, 4 * lingerMillis * time.Millisecond} {
			l.rested = rested
			due := time.Now().Add(wait)
			for time.Now().Before(due) {
				if events, err := l.wait(due); err != nil || len(events) != 0 {
					t.Fatalf("%d events, %v", len(events), err)
				}
			}
		}
	}
}

func TestPostAfterCloseDoesNothing(t *testing.T) {
	l := testLoop(t)
	l.close()
	l.post(func() { t.Error("ran") })
	l.close()
}

func TestDeadline(t *testing.T) {
	l := testLoop(t)
	deadline := time.Now().Add(3 * time.Millisecond)
	events, err := l.wait(deadline)
	if err != nil || len(events) != 0 || time.Now().Before(deadline) {
		t.Errorf("%d events (%v), %v before the deadline", len(events), err, time.Until(deadline))
	}
	// A deadline that has passed is none for what has happened already.
	l.post(func() {})
	if events, err := l.wait(deadline); err != nil || len(events) != 1 {
		t.Errorf("%d events (%v)", len(events), err)
	}
	l.runPosted()
	l.post(func() {})
	if events, err := l.wait(time.Time{}); err != nil || len(events) != 1 {
		t.Errorf("%d events (%v)", len(events), err)
	}
}

// pair is a peer in a loop, and the other end of its connection.
func pair(t *testing.T) (*peer, int) {
	t.Helper()
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	p := &peer{fd: fds[0]}
	t.Cleanup(func() {
		p.close()
		closeFD(fds[1])
	})
	if err := p.join(testLoop(t)); err != nil {
		t.Fatal(err)
	}
	return p, fds[1]
}

func TestAPeerThatReadsLaterGetsEverything(t *testing.T) {
	p, other := pair(t)
	sent := 0
	body := &scorev1.Output{Data: bytes.Repeat([]byte{'x'}, outputChunk)}
	m := &stewardpb.FromSteward{Message: &stewardpb.FromSteward_Output{Output: body}}
	for p.unsent() < 4*outputChunk { // until the socket is full, and some more
		if err := p.queue(m); err != nil {
			t.Fatal(err)
		}
		sent++
		if err := p.flush(); err != nil {
			t.Fatal(err)
		}
	}
	if p.interest&unix.EPOLLOUT == 0 {
		t.Error("does not wait for the socket")
	}
	reader := &peer{fd: other, loop: p.loop}
	got := 0
	for got < sent {
		if err := reader.receive(); err != nil {
			t.Fatal(err)
		}
		for {
			var read stewardpb.FromSteward
			ok, err := reader.next(&read)
			if err != nil {
				t.Fatal(err)
			}
			if !ok {
				break
			}
			if len(read.GetOutput().GetData()) != outputChunk {
				t.Fatalf("message %d has %d bytes", got, len(read.GetOutput().GetData()))
			}
			got++
		}
		if err := p.flush(); err != nil {
			t.Fatal(err)
		}
	}
	if p.unsent() != 0 || p.interest&unix.EPOLLOUT != 0 {
		t.Errorf("%d bytes are left, interest %#x", p.unsent(), p.interest)
	}
}

func TestAPeerHangsUp(t *testing.T) {
	p, other := pair(t)
	if err := p.receive(); err != nil {
		t.Errorf("nothing to read yet: %v", err)
	}
	if err := unix.Shutdown(other, unix.SHUT_RDWR); err != nil {
		t.Fatal(err)
	}
	if err := p.receive(); !errors.Is(err, io.EOF) {
		t.Errorf("got %v, want the end", err)
	}
	m := &stewardpb.FromSteward{Message: &stewardpb.FromSteward_Drained{Drained: true}}
	if err := p.queue(m); err != nil {
		t.Fatal(err)
	}
	if err := p.flush(); err == nil { // and no SIGPIPE
		t.Error("could be written to")
	}
}

// A rank between fork and exec has a copy of every descriptor, so that a closed
// pipe goes on being reported: its end must count once.
func TestAnEndedStreamWithACopyEndsOnce(t *testing.T) {
	r, err := newStdioRelay(stdioEvents{reader: func(bool) {}, drained: func() {}, lost: func(string) {}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.release)
	r.begin(&scorev1.Prepare{JobId: 1, NodeIndex: 0}, nil, []output{{fd: -1, rank: 0, stream: 1}, {fd: -1, rank: 1, stream: 1}}, newFiles(&launch.Actor{}, nil))
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
	if err := r.add(readers, nil); err != nil {
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
