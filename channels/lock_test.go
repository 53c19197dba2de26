package channels

import (
	"errors"
	"score/channels/abi"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

func lockImage(t *testing.T) *Image {
	t.Helper()
	img := heapImage(t, 2, abi.Geometry{}) // so that the race detector watches
	me, err := Self()
	if err != nil {
		t.Fatal(err)
	}
	img.SetOwner(abi.RoleProcess, me)
	img.SetOwner(abi.RoleAgent, me)
	if img.Owner(abi.RoleAgent) != me {
		t.Fatal("owner is not what was set")
	}
	return img
}

func TestLockFree(t *testing.T) {
	img := lockImage(t)
	if err := img.Enter(); err != nil {
		t.Fatal(err)
	}
	if err := img.Enter(); !errors.Is(err, ErrHeld) {
		t.Fatalf("entered twice: %v", err)
	}
	img.Leave()
	if got, err := img.Take(time.Millisecond); got != TakenFree || err != nil {
		t.Fatal(got, err)
	}
	if err := img.Enter(); !errors.Is(err, ErrRevoked) {
		t.Fatalf("entered while the agent drives: %v", err)
	}
	img.AllowDriving()
	if err := img.Enter(); err != nil {
		t.Fatal(err)
	}
}

// TestLockRevokedDuringSection: the agent waits for the end of the section, and
// the process does not enter again.
func TestLockRevokedDuringSection(t *testing.T) {
	img := lockImage(t)
	if err := img.Enter(); err != nil {
		t.Fatal(err)
	}
	var agent sync.WaitGroup
	agent.Go(func() {
		if got, err := img.Take(patience); got != TakenFree || err != nil {
			t.Error(got, err)
		}
	})
	for atomic.LoadUint32(img.wanted()) == 0 && img.Counter(abi.LockTaken) == 0 {
		time.Sleep(time.Microsecond)
	}
	img.Leave()
	agent.Wait()
	if err := img.Enter(); !errors.Is(err, ErrRevoked) {
		t.Fatal(err)
	}
	if img.Counter(abi.LockRefused) != 1 {
		t.Errorf("%d refusals counted", img.Counter(abi.LockRefused))
	}
}

// TestLockHolderStopped: whoever does not let go keeps the lock, and the agent goes
// on without it; later it gets it.
func TestLockHolderStopped(t *testing.T) {
	img := lockImage(t)
	if err := img.Enter(); err != nil {
		t.Fatal(err)
	}
	start := time.Now()
	if _, err := img.Take(2 * time.Millisecond); !errors.Is(err, ErrHolder) {
		t.Fatal(err)
	}
	if took := time.Since(start); took < 2*time.Millisecond || took > patience {
		t.Errorf("gave up after %v", took)
	}
	img.Leave()
	if err := img.Enter(); !errors.Is(err, ErrRevoked) {
		t.Fatalf("the flag was lost: %v", err)
	}
	if got, err := img.Take(time.Millisecond); got != TakenFree || err != nil {
		t.Fatal(got, err)
	}
	if img.Counter(abi.LockTimeouts) != 1 {
		t.Errorf("%d timeouts counted", img.Counter(abi.LockTimeouts))
	}
	img.AllowDriving()
	img.Revoke()
	img.Restore()
	if err := img.Enter(); err != nil {
		t.Fatal(err)
	}
}

func TestLockHolderDied(t *testing.T) {
	img := lockImage(t)
	img.SetOwner(abi.RoleProcess, deadProcess(t))
	if err := img.Enter(); err != nil {
		t.Fatal(err)
	}
	if got, err := img.Take(time.Millisecond); got != TakenBroken || err != nil {
		t.Fatal(got, err)
	}
}

// TestLockAgentRestarted: the new agent takes over what the old one held.
func TestLockAgentRestarted(t *testing.T) {
	img := lockImage(t)
	img.SetOwner(abi.RoleAgent, Process{Pid: 1 << 29})
	if _, err := img.Take(time.Millisecond); err != nil {
		t.Fatal(err)
	}
	me, _ := Self()
	img.SetOwner(abi.RoleAgent, me)
	if got, err := img.Take(time.Millisecond); got != TakenBroken || err != nil {
		t.Fatal(got, err)
	}
}

// TestLockNonsense: a hostile process writes into the lock.
func TestLockNonsense(t *testing.T) {
	img := lockImage(t)
	for _, word := range []uint64{1, 1 << 63, ^uint64(0), 3 << 32} {
		*img.holder() = word
		if _, err := img.Take(100 * time.Microsecond); !errors.Is(err, ErrHolder) {
			t.Errorf("%#x: %v", word, err)
		}
	}
}

// TestLockExcludes has both sides fight for the lock: never both inside.
func TestLockExcludes(t *testing.T) {
	img := lockImage(t)
	inside, sections := 0, 0 // guarded by the lock itself
	var both sync.WaitGroup
	both.Go(func() {
		for done := 0; done < 2000; {
			if img.Enter() != nil {
				continue
			}
			inside++
			if inside != 1 {
				t.Error("both inside")
			}
			inside--
			done++
			sections++
			img.Leave()
		}
	})
	both.Go(func() {
		for range 200 {
			if _, err := img.Take(patience); err != nil {
				t.Error(err)
				return
			}
			inside++
			if inside != 1 {
				t.Error("both inside")
			}
			inside--
			img.AllowDriving()
		}
	})
	both.Wait()
	if sections != 2000 {
		t.Errorf("%d sections", sections)
	}
}
