// Exchange sends messages from every rank to every other, round after round, each of another length
// and with a CRC-32C. It checks that no message is lost, duplicated, out of order or changed, and
// ends with an error at the first one that is.
//
//	scrun -N 4 -n 8 exchange -for 1m
//
// Without -for, -rounds or -stdin it runs for five seconds.
package main

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"math"
	"os"
	"score/pm"
	"sync/atomic"
	"time"
)

// usualLength is long enough to see resends on a bad network, and short enough to wait for.
const usualLength = 5 * time.Second

type options struct {
	length time.Duration // 0: for ever
	rounds uint64        // 0: for ever
	stdin  bool
	report time.Duration // 0: never
	size   int
}

func main() {
	log.SetFlags(0)
	var o options
	flag.DurationVar(&o.length, "for", 0, "how long (default 5s, or until something else ends it)")
	flag.Uint64Var(&o.rounds, "rounds", 0, "how many rounds (default: until something else ends it)")
	flag.BoolVar(&o.stdin, "stdin", false, "go on until the standard input ends")
	flag.DurationVar(&o.report, "report", 0, "how often to tell how far it is; 0: never")
	flag.IntVar(&o.size, "size", 8192, "longest message in `bytes`")
	flag.Parse()
	if o.length == 0 && o.rounds == 0 && !o.stdin {
		o.length = usualLength
	}
	c, err := pm.Open(1)
	if err != nil {
		log.Fatal(err)
	}
	if o.size < headerSize || o.size > c.MaxMessage() {
		log.Fatalf("-size %d: it must be between %d and %d", o.size, headerSize, c.MaxMessage())
	}
	if err := run(c, o); err != nil {
		log.Fatalf("rank %d: %v", c.Rank(), err)
	}
	if err := c.Close(); err != nil {
		log.Fatal(err)
	}
}

// run exchanges until rank 0 marks a round as the last.
func run(c *pm.Channel, o options) error {
	x := newExchange(c, o.size)
	var ending *clock
	if c.Rank() == 0 {
		ending = newClock(o)
	}
	for round := uint64(0); ; round++ {
		if err := x.send(round, ending != nil && ending.last(round)); err != nil {
			return err
		}
		if err := x.complete(round); err != nil {
			return err
		}
		if ending != nil {
			ending.tick(round)
		}
		if round == x.last {
			break
		}
	}
	if ending != nil {
		fmt.Printf("%d rounds on %d ranks, %.1f MB in %d messages to rank 0: every message is right; longest pause %.1f ms\n",
			ending.rounds, c.Size(), float64(x.bytes)/1e6, x.messages, milliseconds(ending.longest))
	}
	return nil
}

// clock is the clock of rank 0. It decides when to end and measures the rounds.
type clock struct {
	options
	begin    time.Time
	rounds   uint64
	before   time.Time     // end of the last round
	longest  time.Duration // from the end of a round to that of the next
	reported time.Time
	since    time.Duration // longest since then
	ended    atomic.Bool   // the standard input
}

func newClock(o options) *clock {
	now := time.Now()
	k := &clock{options: o, begin: now, before: now, reported: now}
	if o.stdin {
		go func() { // as long as the program
			_, err := io.Copy(io.Discard, bufio.NewReader(os.Stdin))
			if err != nil {
				log.Print(err)
			}
			k.ended.Store(true)
		}()
	}
	return k
}

func (k *clock) last(round uint64) bool {
	return k.ended.Load() || k.options.rounds > 0 && round+1 >= k.options.rounds ||
		k.length > 0 && time.Since(k.begin) >= k.length
}

// tick notes the end of a round. The first waits for the start of all ranks and is no pause.
func (k *clock) tick(round uint64) {
	now := time.Now()
	took := now.Sub(k.before)
	k.before, k.rounds = now, round+1
	if round > 0 {
		k.longest, k.since = max(k.longest, took), max(k.since, took)
	}
	if k.report > 0 && (round == 0 || now.Sub(k.reported) >= k.report) {
		fmt.Printf("%d rounds, longest pause %.1f ms\n", k.rounds, milliseconds(k.since))
		k.reported, k.since = now, 0
	}
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1e3 }

// exchange is the state of a rank.
type exchange struct {
	c        *pm.Channel
	size     int
	out      []byte
	noise    []byte
	next     []uint64 // the round that each rank's next message is of
	last     uint64   // the last round, as far as is known
	messages uint64
	bytes    uint64
}

func newExchange(c *pm.Channel, size int) *exchange {
	return &exchange{c: c, size: size, out: make([]byte, 0, size), noise: newNoise(size), next: make([]uint64, c.Size()), last: math.MaxUint64}
}

// send sends this round's message to every other rank.
func (x *exchange) send(round uint64, last bool) error {
	if last {
		x.last = round
	}
	for i := 1; i < x.c.Size(); i++ {
		to := (x.c.Rank() + i) % x.c.Size()
		x.out = message(x.out[:0], x.noise, header{round: round, from: x.c.Rank(), to: to, last: last}, x.size)
		for {
			err := x.c.SendBytes(to, x.out)
			if err == nil {
				break
			}
			if !errors.Is(err, pm.ErrFull) {
				return err
			}
			if err := x.c.WaitSpace(context.Background(), to, len(x.out)); err != nil {
				return err
			}
			if err := x.take(); err != nil {
				return err
			}
		}
	}
	return nil
}

// complete waits until all messages of the round have arrived.
func (x *exchange) complete(round uint64) error {
	for from := range x.next {
		for from != x.c.Rank() && x.next[from] <= round {
			if err := x.c.Wait(context.Background()); err != nil {
				return err
			}
			if err := x.take(); err != nil {
				return err
			}
		}
	}
	return nil
}

// take checks all messages that have arrived.
func (x *exchange) take() error {
	for {
		m, err := x.c.Receive()
		if errors.Is(err, pm.ErrEmpty) {
			return nil
		}
		if err != nil {
			return err
		}
		data, err := m.Bytes()
		if err != nil {
			return err
		}
		want := header{round: x.next[m.Source()], from: m.Source(), to: x.c.Rank()}
		last, err := check(data, want, x.size)
		if err != nil {
			return err
		}
		if last {
			x.last = want.round
		}
		x.next[m.Source()]++
		x.messages++
		x.bytes += uint64(len(data))
		if err := x.c.ReleaseReceiveBuffer(m); err != nil {
			return err
		}
	}
}
