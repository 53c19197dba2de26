package pm_test

import (
	"fmt"
	"math/rand/v2"
	"score/channels/abi"
	"score/pm"
	"testing"
	"time"
)

func init() {
	roles["doze"] = doze
}

// doze bounces a message between ranks that fall asleep at once. Each answers after a
// pause of about the time that this takes the other, so that messages meet it in every
// step of it.
func doze(ch *pm.Channel) error {
	// Whose wake-up is lost sleeps for a second. A busy machine may keep somebody waiting for so
	// long, but not thrice.
	const rounds, late, excused = 5000, 900 * time.Millisecond, 2
	const longest = 40 * time.Microsecond
	other := 1 - ch.Rank()
	random := rand.New(rand.NewPCG(uint64(ch.Rank()), 1))
	times := 0
	for i := range rounds {
		if ch.Rank() == 0 {
			spinFor(time.Duration(random.Int64N(int64(longest))))
			if err := ch.SendBytes(other, nil); err != nil {
				return err
			}
		}
		start := time.Now()
		m, err := receive(ch)
		if err != nil {
			return err
		}
		if took := time.Since(start); took > late {
			times++
		}
		if times > excused {
			return fmt.Errorf("by round %d, %d messages came after more than %v: wake-ups are lost", i, times, late)
		}
		if err := ch.ReleaseReceiveBuffer(m); err != nil {
			return err
		}
		if ch.Rank() == 1 {
			spinFor(time.Duration(random.Int64N(int64(longest))))
			if err := ch.SendBytes(other, nil); err != nil {
				return err
			}
		}
	}
	return nil
}

// spinFor keeps the processor for a while.
func spinFor(d time.Duration) {
	for end := time.Now().Add(d); time.Now().Before(end); {
	}
}

func TestNoWakeUpIsLost(t *testing.T) {
	g := startRanks(t, 2, "doze", pm.EnvSpin+"=0")
	img, err := g.Hub().Image(1, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := g.Wait(); err != nil {
		t.Fatal(err)
	}
	if n := img.Counter(abi.Sleeps); n < 500 {
		t.Errorf("%d sleeps in 5,000 rounds: this test tested little", n)
	}
}
