package node

import (
	"fmt"
	"score/channels"
	"score/channels/abi"
	"score/channels/drive"
	"score/channels/link"
	"score/tests/await"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestEarlyMessages: messages come before the receiver has opened the channel, and wait for it.
func TestEarlyMessages(t *testing.T) {
	c := newCluster(t, 2, Config{})
	zero := c.join(t, c.jobs, 0, 3)
	for i := range 100 {
		zero.send(1, fmt.Sprint(i))
	}
	await.That(t, "all is acknowledged", zero.settled)
	one := c.join(t, c.jobs, 1, 3)
	for i := range 100 {
		if got := one.receive(); got != fmt.Sprint(i) {
			t.Fatalf("message %d is %q", i, got)
		}
	}
}

// TestComputing: a rank that computes does not drive, and yet what is sent to it is
// acknowledged, and what it sent is sent again if it was lost.
func TestComputing(t *testing.T) {
	c := newCluster(t, 2, Config{Faults: link.Faults{Loss: 0.1, Seed: 3}})
	zero, one := c.join(t, c.jobs, 0, 1), c.join(t, c.jobs, 1, 1)
	one.send(0, "hello") // and from now on it computes
	zero.receive()
	await.That(t, "the agent drives", func() bool { return mode(c.jobs[1]) == ModeArmed })
	for i := range 50 {
		zero.send(1, fmt.Sprint(i))
		await.That(t, "it is acknowledged", zero.settled)
	}
	for i := range 50 {
		if got := one.receiveDriven(); got != fmt.Sprint(i) {
			t.Fatalf("message %d is %q", i, got)
		}
	}
	one.send(0, "again") // who computes sends now and then, and does not look
	if got := zero.receive(); got != "again" {
		t.Errorf("%q", got)
	}
}

// TestTurns: the agent drives while the process does not, and leaves it alone while it does.
func TestTurns(t *testing.T) {
	c := newCluster(t, 2, Config{})
	zero, one := c.join(t, c.jobs, 0, 1), c.join(t, c.jobs, 1, 1)
	for i := range 3 {
		taken := uint64(0)
		await.That(t, "watched while it drives", func() bool {
			one.poll()
			zero.send(1, "x") // an armed context is looked at when something comes
			one.receive()
			taken = one.img.Counter(abi.LockTaken) // before the look: the agent may drive right after it
			return mode(c.jobs[1]) == ModeWatched
		})
		await.That(t, fmt.Sprintf("driven by the agent when it does not, turn %d", i), func() bool {
			return mode(c.jobs[1]) == ModeArmed && one.img.Counter(abi.LockTaken) > taken
		})
	}
}

// TestIdle: while nothing happens, contexts are looked at now and then; those whose process cannot
// drive are not.
func TestIdle(t *testing.T) {
	c := newCluster(t, 2, Config{})
	zero, one := c.join(t, c.jobs, 0, 1), c.join(t, c.jobs, 1, 1)
	zero.send(1, "x")
	one.receive()
	far := func() int64 { return channels.Nanos() + int64(time.Hour) }
	await.That(t, "both are driven by their agents, and nothing is due", func() bool {
		return mode(c.jobs[0]) == ModeArmed && mode(c.jobs[1]) == ModeArmed && zero.img.Due() > far() && one.img.Due() > far()
	})
	l := c.nodes[0].loop
	l.do(func() {
		for _, w := range l.waiting {
			if w.at-l.scanNow > 2*armedAwakeInterval || w.c.due < far() {
				t.Errorf("looks at a context after %v, and drives it after %v", w.at-l.scanNow, w.c.due)
			}
		}
	})
	zero.img.SetAway(true)
	await.That(t, "nobody wakes the loop", func() (still bool) {
		l.do(func() { still = l.armTimer() < 0 && l.armedFor > far() })
		return still
	})
	zero.img.SetAway(false)
}

// TestLateLoss: the agent drives, the process sends once and computes again, and what it sent is
// lost.
func TestLateLoss(t *testing.T) {
	c, zero, one := twoRanks(t)
	await.That(t, "the agents drive", func() bool { return mode(c.jobs[0]) == ModeArmed && mode(c.jobs[1]) == ModeArmed })
	lossy, err := drive.New(zero.img, &deaf{Port: zero.driver.Port()}, c.where[0], abi.RoleProcess)
	if err != nil {
		t.Fatal(err)
	}
	await.That(t, "the lock", lossy.Enter)
	if err := lossy.Send(1, []byte("lost"), true, channels.Nanos()); err != nil {
		t.Fatal(err)
	}
	lossy.Leave()
	if got := one.receiveDriven(); got != "lost" {
		t.Errorf("%q", got)
	}
}

// deaf is a port from which nothing leaves.
type deaf struct{ link.Port }

func (*deaf) Queue(link.Address, int) {}

// TestAsleep: a rank that sleeps in its wait is woken by the network and has the first turn;
// one that does not wake is driven by the agent.
func TestAsleep(t *testing.T) {
	c := newCluster(t, 2, Config{})
	zero, one := c.join(t, c.jobs, 0, 1), c.join(t, c.jobs, 1, 1)
	one.poll()
	// As long as its process is stopped it sleeps, and nobody drives.
	stop := make(chan struct{})
	done := make(chan struct{})
	go func() {
		defer close(done)
		one.img.Sleep(time.Millisecond, func() bool { <-stop; return true })
	}()
	await.That(t, "it sleeps", one.img.Sleeping)
	zero.send(1, "x")
	await.That(t, "it is acknowledged", zero.settled)
	close(stop)
	<-done
	if got := one.receive(); got != "x" {
		t.Errorf("%q", got)
	}
}

// TestHeldLock: a process that is stopped in the middle of a section keeps its lock, and the
// agent leaves it alone; others are driven meanwhile, and all goes on when it goes on.
func TestHeldLock(t *testing.T) {
	c := newCluster(t, 2, Config{})
	other, _ := c.add(t, testKey+1)
	zero, one := c.join(t, c.jobs, 0, 1), c.join(t, c.jobs, 1, 1)
	sender, computing := c.join(t, other, 0, 1), c.join(t, other, 1, 1)
	computing.poll()
	await.That(t, "the lock", one.driver.Enter)
	zero.send(1, "x")
	await.That(t, "the agent tried", func() bool { return one.img.Counter(abi.LockTimeouts) > 2 })
	for range 10 {
		sender.send(1, "y")
		await.That(t, "others are driven", sender.settled)
	}
	one.driver.Leave()
	if got := one.receive(); got != "x" {
		t.Errorf("%q", got)
	}
	await.That(t, "it is acknowledged", zero.settled)
}

// TestHostileImage: whatever a process writes into its image, the node goes on, and so do others.
func TestHostileImage(t *testing.T) {
	c := newCluster(t, 2, Config{Log: func(string, uint64, uint32, error) {}})
	good, _ := c.add(t, testKey+1)
	zero, one := c.join(t, c.jobs, 0, 1), c.join(t, c.jobs, 1, 1)
	sender, receiver := c.join(t, good, 0, 1), c.join(t, good, 1, 1)
	zero.send(1, "x")
	one.receive()
	hole := int64(0)
	for i := range 300 {
		// Holes everywhere but in the header and the words of state.
		at := int64(abi.PageBytes) * (1 + hole%128)
		hole++
		if err := unix.Fallocate(int(one.img.File().Fd()), unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_KEEP_SIZE, at, abi.PageBytes); err != nil {
			t.Fatal(err)
		}
		noise := make([]byte, 128)
		for k := range noise {
			noise[k] = byte(i * (k + 7))
		}
		if _, err := one.img.File().WriteAt(noise, at+int64(i*64%abi.PageBytes)/64*64); err != nil {
			t.Fatal(err)
		}
		if zero.driver.Enter() {
			_ = zero.driver.Send(1, make([]byte, i*7), true, channels.Nanos()) // it may be full, or the peer gone
			zero.driver.Leave()
		}
		zero.poll()
		if i%50 == 0 {
			sender.send(1, "good")
			if got := receiver.receiveDriven(); got != "good" {
				t.Fatalf("%q", got)
			}
		}
	}
}
