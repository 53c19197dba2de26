package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"connectrpc.com/connect"

	"score/scored/api/scorev1"
	"score/scored/client"
)

const (
	clusterStart = 20 * time.Second
	clusterStop  = 20 * time.Second
)

// clusterOptions say what a cluster of `scored dev` has.
type clusterOptions struct {
	nodes int
	slice time.Duration // 0: the default
}

// cluster is a running `scored dev`.
type cluster struct {
	*client.Client
	bin    string
	socket string
	daemon *exec.Cmd
}

func startCluster(ctx context.Context, b *bench, o clusterOptions) (*cluster, error) {
	dir, err := os.MkdirTemp(b.work, "cluster-")
	if err != nil {
		return nil, err
	}
	c := &cluster{bin: b.bin, socket: filepath.Join(dir, "scored.sock")}
	c.daemon = exec.Command(filepath.Join(b.bin, "scored"), "dev", "--nodes", strconv.Itoa(o.nodes), "--socket", c.socket)
	c.daemon.Stderr = os.Stderr
	c.daemon.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM}
	if err := c.daemon.Start(); err != nil {
		return nil, err
	}
	c.Client = client.New(c.socket)
	if err := waitFor(ctx, clusterStart, func() bool { return c.nodesUp(ctx) == o.nodes }); err != nil {
		c.stop()
		return nil, fmt.Errorf("the cluster did not come up: %w", err)
	}
	if o.slice > 0 {
		if err := c.setSlice(ctx, o.slice); err != nil {
			c.stop()
			return nil, err
		}
	}
	return c, nil
}

func (c *cluster) stop() {
	c.Close()
	stopCommand(c.daemon, clusterStop)
}

func (c *cluster) nodesUp(ctx context.Context) int {
	nodes, err := c.Cluster.ListNodes(ctx, connect.NewRequest(&scorev1.ListNodesRequest{}))
	if err != nil {
		return 0
	}
	up := 0
	for _, n := range nodes.Msg.GetNodes() {
		if n.GetUp() {
			up++
		}
	}
	return up
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
	cmd.Env = append(os.Environ(), "SCORE_SOCKET="+c.socket)
	return cmd
}

func (c *cluster) scrun(ctx context.Context, args ...string) *exec.Cmd {
	return c.command(ctx, "scrun", args...)
}

// submit starts a detached job and returns its id.
func (c *cluster) submit(ctx context.Context, args ...string) (uint64, error) {
	out, err := c.scrun(ctx, append([]string{"-d", "-o", "/dev/null"}, args...)...).Output()
	if err != nil {
		return 0, fmt.Errorf("scrun -d %s: %w", strings.Join(args, " "), err)
	}
	return strconv.ParseUint(strings.TrimSpace(string(out)), 10, 64)
}

func (c *cluster) cancel(ctx context.Context, ids ...uint64) error {
	for _, id := range ids {
		if _, err := c.Jobs.CancelJob(ctx, connect.NewRequest(&scorev1.CancelJobRequest{JobId: id})); err != nil {
			return err
		}
	}
	return nil
}
