// Keys lets every rank tell all others something with package score/pm/keys, checks what it hears from them, and tells how
// long it takes to look something up.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"time"

	"score/pm/keys"
)

func main() {
	rounds := flag.Int("rounds", 3, "fences, with new values in each")
	gets := flag.Int("gets", 100_000, "looks at the other ranks' values that are timed; 0: none")
	absent := flag.Int("absent", -1, "a `rank` that ends before the last fence, without a word")
	flag.Parse()
	if err := run(context.Background(), *rounds, *gets, *absent); err != nil {
		fmt.Fprintln(os.Stderr, "keys:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, rounds, gets, absent int) error {
	job, err := keys.Open()
	if err != nil {
		return err
	}
	if err := all(ctx, job, rounds, gets, absent); err != nil {
		return err
	}
	return job.Close()
}

func all(ctx context.Context, job *keys.Job, rounds, gets, absent int) error {
	for round := range rounds {
		if job.Rank() == absent && round == rounds-1 {
			os.Exit(0)
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
	each := look(job, gets)
	if job.Rank() == 0 {
		fmt.Printf("%d ranks, %d rounds: every value is right", job.Size(), rounds)
		if gets > 0 {
			fmt.Printf("; a look takes %d ns", each.Nanoseconds())
		}
		fmt.Println()
	}
	return nil
}

// value is what a rank puts in a round.
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

// check looks at all ranks' values: those of the own node are told what is inside, the others what is outside.
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

// look is how long a look at another rank's value takes.
func look(job *keys.Job, gets int) time.Duration {
	start := time.Now()
	for i := range gets {
		if _, ok := job.Get(i%job.Size(), "card"); !ok {
			return 0
		}
	}
	return time.Since(start) / time.Duration(max(gets, 1))
}
