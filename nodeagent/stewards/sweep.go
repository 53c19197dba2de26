package stewards

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"go.uber.org/zap"

	"score/nodeagent/steward/client"
	"score/nodeagent/steward/stewardpb"
)

// sweepWait bounds the ending of what a dead agent has left.
const sweepWait = 5 * time.Second

// sweep ends the stewards of a dead agent of the same name with their jobs, and
// removes their sockets and groups.
func sweep(o *Options) error {
	numbers, err := client.Slots(o.RunDir)
	if err != nil {
		return err
	}
	deadline := time.Now().Add(sweepWait)
	ctx, cancel := context.WithDeadline(context.Background(), deadline)
	defer cancel()
	for _, number := range numbers {
		socket := client.Socket(o.RunDir, number)
		dismiss(ctx, socket)
		if err := os.Remove(socket); err != nil && !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("removing the socket of a dead agent's steward: %w", err)
		}
	}
	groups := 0
	if o.Root != nil {
		if groups, err = o.Root.Sweep(deadline, nil); err != nil {
			return fmt.Errorf("removing what a dead agent has left: %w", err)
		}
	}
	if len(numbers) > 0 || groups > 0 {
		o.Logger.Info("swept away what a dead agent had left", zap.Int("stewards", len(numbers)), zap.Int("groups", groups))
	}
	return nil
}

// dismiss has a steward end its job and exit, if it still lives. Forget does
// both, once the last output has been taken. It waits until ctx ends.
func dismiss(ctx context.Context, socket string) {
	closed := make(chan struct{})
	conn, _, err := client.Dial(ctx, socket, client.Events{
		Message: func(*stewardpb.FromSteward) {},
		Closed:  func(error) { close(closed) },
	})
	if err != nil {
		return
	}
	defer conn.Close()
	if conn.Forget() != nil {
		return
	}
	discardOutput(ctx, socket)
	select {
	case <-closed:
	case <-ctx.Done():
	}
}

// discardOutput takes what nobody will read any more.
func discardOutput(ctx context.Context, socket string) {
	output, err := client.DialStdio(ctx, socket, 0)
	if err != nil {
		return
	}
	defer func() { _ = output.Close() }()
	stop := context.AfterFunc(ctx, func() { _ = output.Close() })
	defer stop()
	for {
		if _, drained, err := output.Receive(); drained || err != nil {
			return
		}
	}
}
