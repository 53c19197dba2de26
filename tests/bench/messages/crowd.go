package messages

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"score/channels/abi"
	"score/pm"
	"time"
)

// A crowd: eight senders and one receiver that works on each message for longer than it takes to
// send one. Its inbox is full all the time.

const (
	crowdSenders = 8
	crowdSize    = 1024
	crowdEach    = 1000
	// crowdWork is what the receiver does with a message, so long that its speed is its own.
	crowdWork = 50 * time.Microsecond
	// crowdAll is how many messages come, and crowdFilling of them until the inbox is full.
	crowdAll     = crowdSenders * crowdEach
	crowdFilling = crowdAll / 10
	// crowdPatience ends a measurement that hangs.
	crowdPatience = 30 * time.Second
)

// Lines by which ranks and their starter understand each other.
const (
	saidBegin  = "begin"
	saidDone   = "done"
	saidFailed = "failed"
)

// Crowd is what was seen of a full inbox.
type Crowd struct {
	Goodput float64 // of what the receiver could have taken, 0 to 1: its time that went into its own work
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
	if _, err := fmt.Sscanf(r.out[0].String(), saidDone+"\n%g", &c.Goodput); err != nil {
		return Crowd{}, fmt.Errorf("%w: %w", errOutput, err)
	}
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
			transmissions, frames := float64(p.Sender.Sent), float64(p.Sender.Queued)
			sent += transmissions
			refused += max(transmissions-frames, 0)
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
	loops := calibrate()
	for rank := 1; rank <= crowdSenders; rank++ {
		if err := send(ch, rank, nil); err != nil {
			return err
		}
	}
	goodput, err := workThrough(ch, data, loops)
	if err != nil {
		return err
	}
	fmt.Printf("%s\n%g\n", saidDone, goodput)
	return untilReleased(ctx, ch)
}

// workThrough receives all messages and works on each. It returns the share of the time that was
// work, as soon as the inbox is full.
func workThrough(ch *pm.Channel, data []byte, loops int) (float64, error) {
	var worked time.Duration
	var start time.Time
	for i := range crowdAll {
		if i == crowdFilling {
			start, worked = time.Now(), 0
		}
		if err := take(ch, data); err != nil {
			return 0, err
		}
		begin := time.Now()
		work(loops)
		worked += time.Since(begin)
	}
	return float64(worked) / float64(time.Since(start)), nil
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

// calibrate finds out how many loops take as long as the work shall.
func calibrate() (loops int) {
	const trial = 1 << 20
	start := time.Now()
	work(trial)
	return max(int(float64(trial)*float64(crowdWork)/float64(time.Since(start))), 1)
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
