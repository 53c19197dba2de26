// Waiting shows how the cluster handles ranks that have nothing to do. The ranks pass a token
// around and then wait for another one, which rank 0 sends after an event:
//
//	scrun -N 2 -n 4 waiting                    no event: a deadlock
//	scrun -N 2 -n 4 waiting -timer 5s          a timer
//	scrun -N 2 -n 4 waiting -deadline 5s       a deadline in Wait itself
//	scrun -N 2 -n 4 waiting -file pipe         a line of a file or named pipe
//	scrun -N 2 -n 4 waiting -file /dev/stdin   a line of standard input
//
// Meanwhile 'scored job list' shows the job as idle, and other programs get its time. Only the
// first job is reported as deadlocked, and ended with --kill-on-deadlock.
package main

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"os"
	"score/pm"
	"time"
)

// event is the event for which rank 0 waits.
type event struct {
	timer, deadline time.Duration
	file            string
}

func main() {
	log.SetFlags(0)
	var e event
	flag.DurationVar(&e.timer, "timer", 0, "rank 0 goes on after this `time`")
	flag.DurationVar(&e.deadline, "deadline", 0, "the same, as the deadline of its Wait")
	flag.StringVar(&e.file, "file", "", "rank 0 goes on when there is a line in the `file`")
	times := flag.Int("times", 1, "how often all wait")
	flag.Parse()
	c, err := pm.Open(1)
	if err != nil {
		log.Fatal(err)
	}
	if err := run(c, e, *times); err != nil {
		log.Fatalf("rank %d: %v", c.Rank(), err)
	}
	if err := c.Close(); err != nil {
		log.Fatal(err)
	}
	if c.Rank() == 0 {
		fmt.Println("all went on")
	}
}

func run(c *pm.Channel, e event, times int) error {
	if c.Size() < 2 {
		return errors.New("it takes two ranks at least")
	}
	if err := pass(c); err != nil {
		return err
	}
	for range times {
		if c.Rank() == 0 {
			fmt.Println("waiting")
			if err := e.await(c); err != nil {
				return err
			}
		}
		if err := pass(c); err != nil {
			return err
		}
	}
	return nil
}

// pass sends a token from rank 0 around all ranks.
func pass(c *pm.Channel) error {
	if c.Rank() > 0 {
		if err := receive(context.Background(), c); err != nil {
			return err
		}
	}
	if err := c.SendBytes((c.Rank()+1)%c.Size(), []byte("token")); err != nil {
		return err
	}
	if c.Rank() > 0 {
		return nil
	}
	return receive(context.Background(), c)
}

// await waits for a message, which does not arrive, until the event occurs.
func (e event) await(c *pm.Channel) error {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	if e.deadline > 0 {
		ctx, cancel = context.WithTimeout(ctx, e.deadline)
		defer cancel()
	}
	failed := make(chan error, 1)
	if e.timer > 0 || e.file != "" {
		go func() {
			failed <- e.come()
			cancel()
		}()
	}
	if err := receive(ctx, c); err == nil || ctx.Err() == nil {
		return fmt.Errorf("a message came, or %w", err)
	}
	if e.deadline > 0 {
		return nil
	}
	return <-failed
}

// come returns when the event has occurred.
func (e event) come() error {
	time.Sleep(e.timer)
	if e.file == "" {
		return nil
	}
	file, err := os.Open(e.file)
	if err != nil {
		return err
	}
	defer file.Close()
	if !bufio.NewScanner(file).Scan() {
		return errors.New("there is no line in " + e.file)
	}
	return nil
}

func receive(ctx context.Context, c *pm.Channel) error {
	if err := c.Wait(ctx); err != nil {
		return err
	}
	m, err := c.Receive()
	if err != nil {
		return err
	}
	return c.ReleaseReceiveBuffer(m)
}
