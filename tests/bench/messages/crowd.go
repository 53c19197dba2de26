package messages

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"score/channels/abi"
	"score/pm"
)

// A crowd: eight senders and one receiver that works on each message for longer than it takes to
// send one. Its inbox is full all the time.

const (
	crowdSenders = 8
	crowdSize    = 1024
	crowdEach    = 1000
	// crowdWork is what the receiver does with a message, so long that its speed is its own.
	crowdWork = 50 * time.Microsecond
	// crowdTrials is how often the work is timed alone.
	crowdTrials = 1000
	// crowdPatience ends a measurement that hangs.
	crowdPatience = 30 * time.Second
)

// Lines by which ranks and their starter understand each other.
const (
	saidBegin = "begin"
	saidDone  = "done"
)

// Crowd is what was seen of a full inbox.
type Crowd struct {
	Goodput float64 // of what the receiver could have taken, 0 to 1
	Refused float64 // of the frames (UDP) or sends (in the node) that were sent, 0 to 1
}

// MeasureCrowd fills an inbox.
func MeasureCrowd(ctx context.Context, path Path) (Crowd, error) {
	cpus, err := CPUs()
	if err != nil {
		return Crowd{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, crowdPatience)
	defer cancel()
	j := job{role: "crowd", ranks: 1 + crowdSenders, nodes: 1, cpus: []int{cpus[0]}}
	for range crowdSenders {
		j.cpus = append(j.cpus, cpus[1])
	}
	if path == UDP {
		j.nodes = j.ranks
	}
	r, err := start(j)
	if err != nil {
		return Crowd{}, err
	}
	c, err := crowd(ctx, r, path)
	if err := errors.Join(err, r.finish(ctx)); err != nil {
		return Crowd{}, fmt.Errorf("the crowd by %s: %w", path, err)
	}
	var alone, full float64
	if _, err := fmt.Sscanf(r.out[0].String(), saidDone+"\n%g %g", &alone, &full); err != nil {
		return Crowd{}, fmt.Errorf("%w: %w", errOutput, err)
	}
	c.Goodput = alone / full
	return c, nil
}

// crowd waits until all has arrived and looks, while the ranks are still there, at what they sent.
func crowd(ctx context.Context, r *running, path Path) (Crowd, error) {
	if err := r.out[0].await(ctx, saidDone); err != nil {
		r.kill()
		return Crowd{}, err
	}
	var sent, refused float64
	for rank := 1; rank <= crowdSenders; rank++ {
		if path == Shm {
			if err := r.out[rank].await(ctx, saidDone); err != nil {
				r.kill()
				return Crowd{}, err
			}
			img, err := r.Hub().Image(1, uint32(rank))
			if err != nil {
				return Crowd{}, err
			}
			sent += float64(img.Counter(abi.Sent) + img.Counter(abi.Refused))
			refused += float64(img.Counter(abi.Refused))
			continue
		}
		peers, err := r.Hub().Job(rank).Peers(1, uint32(rank))
		if err != nil {
			return Crowd{}, err
		}
		for _, p := range peers {
			sent += float64(p.Sender.Sent)
			refused += float64(p.Sender.Sent - min(p.Sender.Queued, p.Sender.Sent))
		}
	}
	return Crowd{Refused: refused / sent}, nil
}

// crowdRank is the receiver or one of the senders.
func crowdRank(ch *pm.Channel) error {
	ctx, cancel := context.WithTimeout(context.Background(), crowdPatience)
	defer cancel()
	if ch.Rank() != 0 {
		return crowdSender(ctx, ch)
	}
	data := make([]byte, crowdSize)
	for range crowdSenders { // all are there
		if err := take(ch, data); err != nil {
			return err
		}
	}
	loops, alone := calibrate()
	for rank := 1; rank <= crowdSenders; rank++ {
		if err := send(ch, rank, nil); err != nil {
			return err
		}
	}
	var full time.Duration
	var start time.Time
	for i := range crowdSenders * crowdEach {
		if i == crowdSenders*crowdEach/10 { // by now the inbox is full
			start = time.Now()
		}
		if err := take(ch, data); err != nil {
			return err
		}
		work(loops)
	}
	full = time.Since(start) / (crowdSenders * crowdEach * 9 / 10)
	fmt.Printf("%s\n%d %d\n", saidDone, alone.Nanoseconds(), full.Nanoseconds())
	return untilReleased(ctx, ch)
}

func crowdSender(ctx context.Context, ch *pm.Channel) error {
	if err := ch.SendBytes(0, nil); err != nil {
		return err
	}
	if err := ch.Wait(ctx); err != nil {
		return err
	}
	data := make([]byte, crowdSize)
	if err := take(ch, data); err != nil {
		return err
	}
	for i := 0; i < crowdEach; {
		err := ch.SendBytes(0, data)
		if err == nil {
			i++
			continue
		}
		if !errors.Is(err, pm.ErrFull) {
			return err
		}
		if err := ch.WaitSpace(ctx, 0, crowdSize); err != nil {
			return err
		}
	}
	return untilReleased(ctx, ch)
}

// untilReleased keeps the rank, which its starter wants to look at, and goes on receiving.
func untilReleased(ctx context.Context, ch *pm.Channel) error {
	if ch.Rank() != 0 {
		fmt.Println(saidDone)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		_, _ = io.ReadAll(os.Stdin) // nothing is ever written: it ends when the starter closes it
		cancel()
	}()
	if err := ch.Wait(ctx); err != nil && !errors.Is(err, context.Canceled) {
		return err
	}
	return nil
}

// calibrate finds out how many loops take as long as the work shall, and how long they then take.
func calibrate() (loops int, each time.Duration) {
	const trial = 1 << 20
	start := time.Now()
	work(trial)
	loops = max(int(float64(trial)*float64(crowdWork)/float64(time.Since(start))), 1)
	start = time.Now()
	for range crowdTrials {
		work(loops)
	}
	return loops, time.Since(start) / crowdTrials
}

// worked keeps the work from being no work.
var worked uint64

func work(loops int) {
	x := worked
	for range loops {
		x = x*6364136223846793005 + 1442695040888963407
	}
	worked = x
}
