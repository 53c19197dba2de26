package messages

import (
	"errors"
	"fmt"
	"os"
	"score/pm"
	"strconv"
	"time"
)

// roleVariable names what a process that this program started is to do.
const roleVariable = "SCORE_BENCH_RANK"

// planVariable has the plan of a rank that measures curves.
const planVariable = "SCORE_BENCH_PLAN"

// roles are the programs of ranks; they print what they measured.
var roles = map[string]func(*pm.Channel) error{
	"curve":  curveRank,
	"incast": incastRank,
	"absent": absentRank,
	"layer":  layerRank,
	"remote": remoteRank,
	"match":  matchRank,
}

// IsRank reports whether this process was started as a rank, and is to call RunRank only.
func IsRank() bool { return os.Getenv(roleVariable) != "" }

// RunRank is the whole life of a rank, and returns its exit status.
func RunRank() int {
	role := os.Getenv(roleVariable)
	if err := runRank(role); err != nil {
		fmt.Fprintf(os.Stderr, "bench: rank (%s): %v\n", role, err)
		fmt.Println(saidFailed)
		return 1
	}
	return 0
}

func runRank(role string) error {
	if role == bareRole {
		return bareRank()
	}
	ch, err := pm.Open(1)
	if err != nil {
		return err
	}
	if err := roles[role](ch); err != nil {
		return err
	}
	if err := ch.Close(); !errors.Is(err, pm.ErrClosed) { // a layer above may have closed it
		return err
	}
	return nil
}

// receive polls until a message is there.
func receive(ch *pm.Channel) (pm.Message, error) {
	for {
		m, err := ch.Receive()
		if err != pm.ErrEmpty { //nolint:errorlint // Receive returns this very value
			return m, err
		}
	}
}

// take receives a message into memory of the rank's own, as an MPI program would.
func take(ch *pm.Channel, data []byte) error {
	m, err := receive(ch)
	if err != nil {
		return err
	}
	if _, err := m.CopyTo(data); err != nil {
		return err
	}
	return ch.ReleaseReceiveBuffer(m)
}

// send tries until there is space.
func send(ch *pm.Channel, to int, data []byte) error {
	for {
		err := ch.SendBytes(to, data)
		if err != pm.ErrFull { //nolint:errorlint // SendBytes returns this very value
			return err
		}
	}
}

// warmUp is how long messages go to and fro before anything is measured: until the
// processors run at their speed, and stores are no fences any more (channels.SpeedUp).
const warmUp = 350 * time.Millisecond

// curveRank is one of the two ranks that measure a plan.
func curveRank(ch *pm.Channel) error {
	plan, err := parsePlan(os.Getenv(planVariable))
	if err != nil {
		return err
	}
	data := make([]byte, ch.MaxMessage())
	if err := warm(ch, data); err != nil {
		return err
	}
	with := func(run func(*pm.Channel, int, int, []byte) error) exchange {
		return func(size, count int) error { return run(ch, size, count, data) }
	}
	return measure(ch.Rank(), plan, with(pingPong), with(stream))
}

// exchange sends messages of a size between both ranks, so many times.
type exchange func(size, count int) error

// measure measures by a plan.
func measure(rank int, plan Plan, pingPong, stream exchange) error {
	for _, p := range plan {
		if err := measureOne(rank, lineLatency, p.Size, p.Rounds, pingPong); err != nil {
			return err
		}
		if err := measureOne(rank, lineStream, p.Size, p.Stream, stream); err != nil {
			return err
		}
	}
	return nil
}

// measureOne runs an exchange, after a tenth for warming up, and rank 0 prints nanoseconds for one.
func measureOne(rank int, kind string, size, count int, run exchange) error {
	if err := run(size, count/10+1); err != nil {
		return err
	}
	start := time.Now()
	if err := run(size, count); err != nil {
		return err
	}
	if rank != 0 {
		return nil
	}
	ns := float64(time.Since(start).Nanoseconds()) / float64(count)
	if kind == lineLatency {
		ns /= 2
	}
	_, err := fmt.Println(kind, size, strconv.FormatFloat(ns, 'f', 2, 64))
	return err
}

// warm is ended by rank 0, which has the clock, with a message that says so.
func warm(ch *pm.Channel, data []byte) error {
	for start := time.Now(); ; {
		data[0] = 1
		if ch.Rank() == 0 {
			if time.Since(start) > warmUp {
				data[0] = 0
			}
			if err := send(ch, 1, data[:8]); err != nil || data[0] == 0 {
				return err
			}
		}
		if err := take(ch, data); err != nil {
			return err
		}
		if ch.Rank() == 1 {
			if data[0] == 0 {
				return nil
			}
			if err := send(ch, 0, data[:8]); err != nil {
				return err
			}
		}
	}
}

func pingPong(ch *pm.Channel, size, count int, data []byte) error {
	other := 1 - ch.Rank()
	for range count {
		if other == 1 {
			if err := send(ch, other, data[:size]); err != nil {
				return err
			}
		}
		if err := take(ch, data); err != nil {
			return err
		}
		if other == 0 {
			if err := send(ch, other, data[:size]); err != nil {
				return err
			}
		}
	}
	return nil
}

// stream goes from rank 0 to rank 1, which answers when it has all.
func stream(ch *pm.Channel, size, count int, data []byte) error {
	if ch.Rank() == 0 {
		for range count {
			if err := send(ch, 1, data[:size]); err != nil {
				return err
			}
		}
		return take(ch, data)
	}
	for range count {
		if err := take(ch, data); err != nil {
			return err
		}
	}
	return send(ch, 0, nil)
}
