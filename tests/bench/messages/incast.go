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

// Incast: eight senders and one receiver that works on each message for longer than it takes to
// send one. Its inbox is full all the time.

const (
	incastSenders = 8
	incastSize    = 1024
	incastEach    = 1000
	// incastWork is what the receiver does with a message, so long that its speed is its own.
	incastWork = 50 * time.Microsecond
	// incastAll is how many messages come, and incastFilling of them until the inbox is full.
	incastAll     = incastSenders * incastEach
	incastFilling = incastAll / 10
	// incastPatience ends a measurement that hangs.
	incastPatience = 30 * time.Second
)

// Lines by which ranks and their starter understand each other.
const (
	saidBegin  = "begin"
	saidDone   = "done"
	saidFailed = "failed"
)

// Incast is what was seen of a full inbox.
type Incast struct {
	Goodput float64 // of what the receiver could have taken, 0 to 1: its time that went into its own work
	Refused float64 // of the frames (UDP) or sends (in the node) that were sent, 0 to 1
}

// MeasureIncast fills an inbox.
func MeasureIncast(ctx context.Context, path Path) (Incast, error) {
	cpus, err := CPUs()
	if err != nil {
		return Incast{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, incastPatience)
	defer cancel()
	j := job{role: "incast", ranks: 1 + incastSenders, nodes: 1, cpus: []int{cpus[0]}}
	for range incastSenders {
		j.cpus = append(j.cpus, cpus[1])
	}
	if path == UDP {
		j.nodes = j.ranks
	}
	r, err := start(j)
	if err != nil {
		return Incast{}, err
	}
	c, err := incast(ctx, r, path)
	if err := errors.Join(err, r.finish(ctx)); err != nil {
		return Incast{}, fmt.Errorf("incast by %s: %w", path, err)
	}
	if _, err := fmt.Sscanf(r.out[0].String(), saidDone+"\n%g", &c.Goodput); err != nil {
		return Incast{}, fmt.Errorf("%w: %w", errOutput, err)
	}
	return c, nil
}

// incast waits until all has arrived and looks, while the ranks are still there, at what they sent.
func incast(ctx context.Context, r *running, path Path) (Incast, error) {
	if err := r.out[0].await(ctx, saidDone); err != nil {
		r.kill()
		return Incast{}, err
	}
	var sent, refused float64
	for rank := 1; rank <= incastSenders; rank++ {
		if path == Shm {
			if err := r.out[rank].await(ctx, saidDone); err != nil {
				r.kill()
				return Incast{}, err
			}
			img, err := r.Hub().Image(1, uint32(rank))
			if err != nil {
				return Incast{}, err
			}
			sent += float64(img.Counter(abi.Sent) + img.Counter(abi.Refused))
			refused += float64(img.Counter(abi.Refused))
			continue
		}
		peers, err := r.Hub().Job(rank).Peers(1, uint32(rank))
		if err != nil {
			return Incast{}, err
		}
		for _, p := range peers {
			transmissions, frames := float64(p.Sender.Sent), float64(p.Sender.Queued)
			sent += transmissions
			refused += max(transmissions-frames, 0)
		}
	}
	return Incast{Refused: refused / sent}, nil
}

// incastRank is the receiver or one of the senders.
func incastRank(ch *pm.Channel) error {
	ctx, cancel := context.WithTimeout(context.Background(), incastPatience)
	defer cancel()
	if ch.Rank() != 0 {
		return incastSender(ctx, ch)
	}
	data := make([]byte, incastSize)
	for range incastSenders { // all are there
		if err := take(ch, data); err != nil {
			return err
		}
	}
	loops := calibrate()
	for rank := 1; rank <= incastSenders; rank++ {
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
	for i := range incastAll {
		if i == incastFilling {
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

func incastSender(ctx context.Context, ch *pm.Channel) error {
	if err := send(ch, 0, nil); err != nil {
		return err
	}
	if err := ch.Wait(ctx); err != nil {
		return err
	}
	data := make([]byte, incastSize)
	if err := take(ch, data); err != nil {
		return err
	}
	for i := 0; i < incastEach; {
		err := ch.SendBytes(0, data)
		if err == nil {
			i++
			continue
		}
		if !errors.Is(err, pm.ErrFull) {
			return err
		}
		if err := ch.WaitSpace(ctx, 0, incastSize); err != nil {
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
	return max(int(float64(trial)*float64(incastWork)/float64(time.Since(start))), 1)
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
