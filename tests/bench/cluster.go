package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"score/nodeagent"
	"score/scored/api/scorev1"
	"score/tests/devcluster"
	"strconv"
	"strings"
	"time"

	"connectrpc.com/connect"
)

// clusterOptions say what a cluster of `scored dev` has.
type clusterOptions struct {
	nodes int
	slice time.Duration // 0: the default
}

// cluster is a running `scored dev`.
type cluster struct {
	*devcluster.Dev
	bin string
}

func startCluster(ctx context.Context, b *bench, o clusterOptions) (*cluster, error) {
	dir, err := os.MkdirTemp(b.work, "cluster-")
	if err != nil {
		return nil, err
	}
	dev, err := devcluster.Start(ctx, devcluster.Options{
		Scored: filepath.Join(b.bin, "scored"), Socket: filepath.Join(dir, "scored.sock"), Nodes: o.nodes,
		Channels: nodeagent.DefaultChannels, // whatever the machine has: some jobs are to take turns
	})
	if err != nil {
		return nil, err
	}
	c := &cluster{Dev: dev, bin: b.bin}
	if o.slice > 0 {
		if err := c.setSlice(ctx, o.slice); err != nil {
			c.stop()
			return nil, err
		}
	}
	return c, nil
}

func (c *cluster) stop() {
	if err := c.Stop(); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
}

func (c *cluster) setSlice(ctx context.Context, slice time.Duration) error {
	_, err := c.Cluster.SetSettings(ctx, connect.NewRequest(&scorev1.SetSettingsRequest{
		Settings: &scorev1.Settings{SliceNanos: slice.Nanoseconds()},
		Fields:   []string{"slice_nanos"},
	}))
	return err
}

// command runs one of our programs against this cluster.
func (c *cluster) command(ctx context.Context, program string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, filepath.Join(c.bin, program), args...)
	cmd.Env = append(os.Environ(), "SCORE_SOCKET="+c.Socket)
	return cmd
}

func (c *cluster) scrun(ctx context.Context, args ...string) *exec.Cmd {
	return c.command(ctx, "scrun", args...)
}

// submit starts a detached job and returns its id.
func (c *cluster) submit(ctx context.Context, args ...string) (uint64, error) {
	return c.submitIn(ctx, nil, args...)
}

// submitIn is submit with more variables in the environment.
func (c *cluster) submitIn(ctx context.Context, env []string, args ...string) (uint64, error) {
	cmd := c.scrun(ctx, append([]string{"-d", "-o", "/dev/null"}, args...)...)
	cmd.Env = append(cmd.Env, env...)
	out, err := cmd.Output()
	if err != nil {
		return 0, fmt.Errorf("scrun -d %s: %w", strings.Join(args, " "), err)
	}
	return strconv.ParseUint(strings.TrimSpace(string(out)), 10, 64)
}

func (c *cluster) cancel(ctx context.Context, ids ...uint64) error {
	for _, id := range ids {
		if _, err := c.Jobs.CancelJob(ctx, connect.NewRequest(&scorev1.CancelJobRequest{JobId: id, AtOnce: true})); err != nil {
			return err
		}
	}
	return nil
}
