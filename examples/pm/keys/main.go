// Keys makes every rank publish values with package score/pm/keys, checks the values that the ranks
// read from each other, and prints the duration of a look-up.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"score/pm/keys"
	"time"
)

func main() {
	rounds := flag.Int("rounds", 3, "fences, with new values in each")
	gets := flag.Int("gets", 100_000, "looks at the other ranks' values that are timed; 0: none")
	absent := flag.Int("absent", -1, "a `rank` that ends before the last fence, without a word")
	again := flag.Int("again", -1, "a `rank` that is killed before the last round, and begun again")
	flag.Parse()
	if err := run(context.Background(), plan{*rounds, *gets, *absent, *again}); err != nil {
		fmt.Fprintln(os.Stderr, "keys:", err)
		os.Exit(1)
	}
}

// plan holds the values of the flags.
type plan struct{ rounds, gets, absent, again int }

func run(ctx context.Context, p plan) error {
	job, err := keys.Open()
	if err != nil {
		return err
	}
	if err := all(ctx, job, p); err != nil {
		return err
	}
	return job.Close()
}

func all(ctx context.Context, job *keys.Job, p plan) error {
	rounds := p.rounds
	for round := range rounds {
		last := round == rounds-1
		if job.Incarnation() > 0 && !last {
			continue // the process before this one has been there
		}
		if job.Rank() == p.absent && last {
			os.Exit(0)
		}
		if job.Rank() == p.again && last && job.Incarnation() == 0 {
			return dieOnce(ctx, job)
		}
		if err := publish(job, round); err != nil {
			return err
		}
		if err := job.Fence(ctx); err != nil {
			return err
		}
		if err := check(job, round); err != nil {
			return err
		}
		// Nobody puts the next values before all have seen these.
		if err := job.Barrier(ctx); err != nil {
			return err
		}
	}
	each := look(job, p.gets)
	if job.Rank() == 0 {
		fmt.Printf("%d ranks, %d rounds: every value is right", job.Size(), rounds)
		if p.gets > 0 {
			fmt.Printf("; a look takes %d ns", each.Nanoseconds())
		}
		fmt.Println()
	}
	return nil
}

// dieOnce asks for a restart of this rank, and kills it.
func dieOnce(ctx context.Context, job *keys.Job) error {
	if err := job.Respawn(ctx, 1); err != nil {
		return err
	}
	self, err := os.FindProcess(os.Getpid())
	if err != nil {
		return err
	}
	return self.Kill() // which does not return
}

// value returns the value that a rank puts in a round.
func value(rank, round int, what string) string {
	return fmt.Sprintf("%s of rank %d in round %d", what, rank, round)
}

func publish(job *keys.Job, round int) error {
	for scope, key := range map[keys.Scope]string{keys.Global: "card", keys.Node: "inside", keys.Remote: "outside"} {
		if err := job.Put(scope, key, value(job.Rank(), round, key)); err != nil {
			return err
		}
	}
	return nil
}

// check compares all ranks' values: ranks of this node see the value for the node, the others the
// value for other nodes.
func check(job *keys.Job, round int) error {
	for rank := range job.Size() {
		if got, ok := job.Get(rank, "card"); !ok || string(got) != value(rank, round, "card") {
			return fmt.Errorf("rank %d has the card %q of rank %d", job.Rank(), got, rank)
		}
		inside, near := job.Get(rank, "inside")
		outside, far := job.Get(rank, "outside")
		if near == far || near && string(inside) != value(rank, round, "inside") || far && string(outside) != value(rank, round, "outside") {
			return fmt.Errorf("rank %d is told %q and %q by rank %d", job.Rank(), inside, outside, rank)
		}
		if rank == job.Rank() && !near {
			return fmt.Errorf("rank %d does not know its own", rank)
		}
	}
	return nil
}

// look measures a look-up of another rank's value.
func look(job *keys.Job, gets int) time.Duration {
	start := time.Now()
	for i := range gets {
		if _, ok := job.Get(i%job.Size(), "card"); !ok {
			return 0
		}
	}
	return time.Since(start) / time.Duration(max(gets, 1))
}
