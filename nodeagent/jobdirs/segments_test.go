package jobdirs

import (
	"errors"
	"score/nodeagent/launch"
	"testing"
	"testing/synctest"
	"time"
)

// A user whose processes keep their memory locked delays the ends of the user's own jobs, each for
// a bounded time, and nobody else's; neither does the stop of the agent wait.
func TestSearchesThatDoNotEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ann, bob := &launch.User{UID: 1}, &launch.User{UID: 2}
		unlocked := make(chan struct{})
		locked := func(*launch.User) error { <-unlocked; return nil }
		d := New(Options{})
		begin := time.Now()
		for range maxLooks + 1 { // the last waits for its turn
			if err := d.within(ann, locked); !errors.Is(err, errLocked) {
				t.Error(err)
			}
		}
		if waited := time.Since(begin); waited != (maxLooks+1)*lookTimeout {
			t.Errorf("they have waited %v", waited)
		}
		own := errors.New("own")
		if err := d.within(bob, func(*launch.User) error { return own }); !errors.Is(err, own) {
			t.Error("another user's search:", err)
		}
		if waited := time.Since(begin); waited != (maxLooks+1)*lookTimeout {
			t.Error("another user has waited")
		}
		d.Stop()
		for _, user := range []*launch.User{ann, bob} {
			if err := d.within(user, locked); !errors.Is(err, errStopped) {
				t.Error("after the stop:", err)
			}
		}
		if waited := time.Since(begin); waited != (maxLooks+1)*lookTimeout {
			t.Error("the stop has waited")
		}
		close(unlocked)
	})
}
