package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"score/tests/daemons"
	"slices"
	"strings"
	"time"
)

const (
	// submitElections of each kind are held.
	submitElections = 5
	// submitElected and submitBlocked are what is promised when a leader is lost: until another
	// leads, and of the longest submission.
	submitElected = 2000 // ms
	submitBlocked = 3000 // ms
)

// submitElect kills the leader of three servers, and stops it, while clients submit by way of the
// others.
func submitElect(ctx context.Context, b *bench) error {
	dir := filepath.Join(b.work, "elect")
	if err := os.Mkdir(dir, 0o700); err != nil {
		return err
	}
	// The jobs' program opens no channel: there is nothing else to build.
	c, err := daemons.Start(ctx, daemons.Options{Bin: b.bin, Dir: dir, Servers: submitServers, Nodes: 1, Grace: time.Minute})
	if err != nil {
		return err
	}
	defer func() {
		if err := c.Stop(); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
	}()
	load := c.Load(ctx, submitServers, "n1")
	err = load.AwaitAccepted(ctx, submitServers)
	for _, stop := range []bool{false, true} {
		if err == nil {
			err = submitElectAgain(ctx, b, c, load, stop)
		}
	}
	summary, lost := load.Stop(context.WithoutCancel(ctx))
	b.note("jobs submitted meanwhile: %s", summary)
	return errors.Join(err, lost, c.AwaitForgotten(context.WithoutCancel(ctx)))
}

func submitElectAgain(ctx context.Context, b *bench, c *daemons.Cluster, load *daemons.Load, stop bool) error {
	how := "killed"
	if stop {
		how = "stopped"
	}
	var elected, blocked []float64
	var all []string
	for range submitElections {
		e, err := c.Elect(ctx, load, stop)
		if err != nil {
			return err
		}
		elected, blocked = append(elected, milli(e.Elected)), append(blocked, milli(e.Blocked))
		all = append(all, fmt.Sprintf("%.0f/%.0f", milli(e.Elected), milli(e.Blocked)))
	}
	b.single("submit_3_leader_"+how+"_elected", slices.Max(elected), "ms", atMost("value", submitElected))
	b.single("submit_3_leader_"+how+"_blocked", slices.Max(blocked), "ms", atMost("value", submitBlocked))
	b.note("leader %s: elected/blocked, ms: %s", how, strings.Join(all, " "))
	return nil
}
