package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"score/scored/api/scorev1"
	"slices"
	"strconv"
	"syscall"
	"time"
)

const (
	// hostileTarget is the time of a program beside an attacker, at most, as a multiple of its time
	// beside a job that computes.
	hostileTarget = 1.05
	// hostileRounds makes one run last some seconds, half of them the neighbour's: many slices.
	hostileRounds = 500_000
	// nobody is the neighbour's user: not the program's, and without rights.
	nobody = 65534
)

// hostileGroup runs a ping-pong between two nodes, in turns with a job of another user: one that
// attacks whatever it reaches, and one that only computes.
func hostileGroup(ctx context.Context, b *bench) error {
	c, err := startCluster(ctx, b, clusterOptions{nodes: 2})
	if err != nil {
		return err
	}
	defer c.stop()
	self, err := publish(b, filepath.Dir(c.Socket))
	if err != nil {
		return err
	}
	var spinning, attacking []float64
	for run := range b.runs {
		for i := range 2 {
			role, times := spinRank, &spinning
			if (run+i)%2 == 0 {
				role, times = hostileRank, &attacking
			}
			ms, err := c.besideNeighbour(ctx, self, role)
			if err != nil {
				return err
			}
			*times = append(*times, ms/1e3)
		}
	}
	b.pair("channels_hostile_neighbour", attacking, spinning, "s", atMost("ratio", hostileTarget))
	return nil
}

// publish puts a copy of this program where every user can execute it, and opens the way to
// the cluster's socket.
func publish(b *bench, dir string) (string, error) {
	self, err := os.Executable()
	if err != nil {
		return "", err
	}
	program, err := os.ReadFile(self)
	if err != nil {
		return "", err
	}
	for _, d := range []string{b.work, dir} {
		if err := os.Chmod(d, 0o755); err != nil { //nolint:gosec // other users are to come in
			return "", err
		}
	}
	to := filepath.Join(dir, "rank")
	return to, os.WriteFile(to, program, 0o755) //nolint:gosec // other users are to execute it
}

// besideNeighbour is how long the ping-pong takes beside a neighbour of that kind.
func (c *cluster) besideNeighbour(ctx context.Context, self, role string) (float64, error) {
	neighbour := c.scrun(ctx, "-N", "2", "-n", "2", "-o", "/dev/null", self, role)
	neighbour.Dir = "/"
	if os.Getuid() == 0 {
		neighbour.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	}
	if err := neighbour.Start(); err != nil {
		return 0, err
	}
	defer stopCommand(neighbour, 10*time.Second)
	if err := waitFor(ctx, 10*time.Second, func() bool { return c.runs(ctx, 1) }); err != nil {
		return 0, fmt.Errorf("the neighbour does not run: %w", err)
	}
	return milliseconds(c.scrun(ctx, "-N", "2", "-n", "2", self, pingRank, strconv.Itoa(hostileRounds)))
}

// runs reports whether that number of jobs is running.
func (c *cluster) runs(ctx context.Context, jobs int) bool {
	ids, ok := c.running(ctx)
	return ok && len(ids) == jobs
}

// jobRuns reports whether the job is running.
func (c *cluster) jobRuns(ctx context.Context, id uint64) bool {
	ids, ok := c.running(ctx)
	return ok && slices.Contains(ids, id)
}

func (c *cluster) running(ctx context.Context) (ids []uint64, ok bool) {
	for j, err := range c.ListJobs(ctx, &scorev1.ListJobsRequest{}) {
		if err != nil {
			return nil, false
		}
		if j.GetState() == scorev1.JobState_JOB_STATE_RUNNING {
			ids = append(ids, j.GetId())
		}
	}
	return ids, true
}
