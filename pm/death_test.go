package pm_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"score/pm"
	"score/pm/local/localtest"
	"strconv"
	"testing"
	"time"
)

func init() {
	roles["victim"] = victim
	roles["crowd"] = floodChannel
}

// victim sends and receives until its peer dies, which must become known; or until
// it is killed itself.
func victim(ch *pm.Channel) error {
	other := 1 - ch.Rank()
	out := localtest.NewTraffic(ch.Rank(), other)
	var next []byte
	for i := 0; ; i++ {
		if next == nil {
			next = out.Next()
		}
		switch err := post(ch, other, next, i); {
		case err == nil:
			next = nil
		case errors.Is(err, pm.ErrPeerGone):
			return nil
		case !errors.Is(err, pm.ErrFull):
			return err
		}
		m, err := ch.Receive()
		switch {
		case errors.Is(err, pm.ErrEmpty):
			if err := ch.WaitSpace(patient(), other, 0); err != nil && !errors.Is(err, pm.ErrPeerGone) {
				return err
			}
			continue
		case errors.Is(err, pm.ErrPeerGone):
			return nil
		case err != nil:
			return err
		}
		if _, err := m.Bytes(); err != nil && !errors.Is(err, pm.ErrPeerGone) {
			return err
		}
		if err := ch.ReleaseReceiveBuffer(m); err != nil {
			return err
		}
	}
}

// TestKillEitherEnd kills a rank at random points of the traffic: the other
// learns it at once, and ends by itself.
func TestKillEitherEnd(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	for i := range 12 {
		g := startRanks(t, 2, "victim")
		localtest.AwaitTraffic(t, g, i%2)
		time.Sleep(time.Duration(random.IntN(3000)) * time.Microsecond)
		if err := g.Kill(i % 2); err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		err := g.Wait()
		if err == nil || err.Error() != fmt.Sprintf("rank %d: signal: killed", i%2) {
			t.Fatalf("round %d: %v", i, err)
		}
		if late := time.Since(start); late > patience {
			t.Errorf("the other rank went on for %v", late)
		}
	}
}

// floodChannel: all send to rank 0, which is slow; everything arrives, in order.
func floodChannel(ch *pm.Channel) error {
	n, err := strconv.Atoi(os.Getenv("PM_TEST_N"))
	if err != nil {
		return err
	}
	if ch.Rank() != 0 {
		buf := make([]byte, 3000)
		for i := range n {
			buf[0], buf[1] = byte(i), byte(i>>8)
			for {
				err := ch.SendBytes(0, buf[:2+i*7%2999])
				if err == nil {
					break
				}
				if !errors.Is(err, pm.ErrFull) {
					return err
				}
				if err := ch.WaitSpace(patient(), 0, 3000); err != nil {
					return err
				}
			}
		}
		return nil
	}
	next := make([]int, ch.Size())
	for range n * (ch.Size() - 1) {
		m, err := receive(ch)
		if err != nil {
			return err
		}
		b, err := m.Bytes()
		if err != nil {
			return err
		}
		i := next[m.Source()]
		next[m.Source()]++
		if len(b) != 2+i*7%2999 || b[0] != byte(i) || b[1] != byte(i>>8) {
			return fmt.Errorf("rank %d: message %d is wrong", m.Source(), i)
		}
		if err := ch.ReleaseReceiveBuffer(m); err != nil {
			return err
		}
	}
	return nil
}

// TestManySendersFewCPUs has eight senders fill one inbox, on fewer processors than ranks.
func TestManySendersFewCPUs(t *testing.T) {
	g := startRanks(t, 9, "crowd", "PM_TEST_N=3000")
	if err := g.Wait(); err != nil {
		t.Fatal(err)
	}
}
