package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"score/channels/procstat"
	"strconv"
	"strings"
	"time"
)

const (
	queuedJobs      = 1000
	idleWatch       = 10 * time.Second
	listTarget      = 0.2 // seconds
	idleTarget      = 1.0 // per cent of one CPU
	residentTarget  = 40.0
	passTarget      = 50.0 // milliseconds
	placementBench  = "BenchmarkSchedule10k1000"
	submitAtOnce    = 8
	nanosPerMilli   = 1e6
	kibibytesPerMeg = 1024
)

// placementGroup measures what an idle agent costs, how long a list of many
// jobs takes, and one placement pass over a large cluster.
func placementGroup(ctx context.Context, b *bench) error {
	if err := placementPass(ctx, b); err != nil {
		return err
	}
	c, err := startCluster(ctx, b, clusterOptions{nodes: 2})
	if err != nil {
		return err
	}
	defer c.stop()
	if err := idleAgents(ctx, b, c); err != nil {
		return err
	}
	return longQueue(ctx, b, c)
}

func placementPass(ctx context.Context, b *bench) error {
	out, err := exec.CommandContext(ctx, "go", "test", "-run", "^$", "-bench", "^"+placementBench+"$", "-count", "5", "./gang").Output()
	if err != nil {
		return fmt.Errorf("go test -bench: %w: %s", err, out)
	}
	var passes []float64
	for s := bufio.NewScanner(bytes.NewReader(out)); s.Scan(); {
		fields := strings.Fields(s.Text())
		if len(fields) < 4 || !strings.HasPrefix(fields[0], placementBench) {
			continue
		}
		ns, err := strconv.ParseFloat(fields[2], 64)
		if err != nil {
			return err
		}
		passes = append(passes, ns/nanosPerMilli)
	}
	if len(passes) == 0 {
		return errShortOutput
	}
	b.single("placement_pass_10000_jobs_1000_nodes", median(passes), "ms", atMost("value", passTarget))
	return nil
}

// idleAgents watches the agents while nothing runs.
func idleAgents(ctx context.Context, b *bench, c *cluster) error {
	pids, err := children(c.PID(), "agent")
	if err != nil {
		return err
	}
	if len(pids) == 0 {
		return fmt.Errorf("no agent among the children of scored dev: %w", errNaN)
	}
	before, err := processorTime(pids)
	if err != nil {
		return err
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(idleWatch):
	}
	after, err := processorTime(pids)
	if err != nil {
		return err
	}
	percent := (after - before).Seconds() / idleWatch.Seconds() * 100 / float64(len(pids))
	b.single("agent_idle_cpu", percent, "%", atMost("value", idleTarget))
	rss, err := residentMegabytes(pids)
	if err != nil {
		return err
	}
	b.single("agent_idle_resident", rss, "MB", atMost("value", residentTarget))
	return nil
}

// children lists the child processes whose command line has the word.
func children(parent int, word string) ([]int, error) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", parent, parent))
	paths := []string{}
	if err == nil {
		paths = strings.Fields(string(data))
	}
	// Children of other threads are listed under those threads.
	tasks, globErr := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", parent))
	if globErr != nil {
		return nil, globErr
	}
	for _, t := range tasks {
		if more, err := os.ReadFile(t); err == nil {
			paths = append(paths, strings.Fields(string(more))...)
		}
	}
	seen := map[int]bool{}
	var pids []int
	for _, p := range paths {
		pid, err := strconv.Atoi(p)
		if err != nil || seen[pid] {
			continue
		}
		seen[pid] = true
		line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		if err == nil && bytes.Contains(line, []byte("\x00"+word+"\x00")) {
			pids = append(pids, pid)
		}
	}
	return pids, nil
}

// processorTime returns the CPU time of processes.
func processorTime(pids []int) (sum time.Duration, err error) {
	for _, pid := range pids {
		stat, err := procstat.Read(pid)
		if err != nil {
			return 0, fmt.Errorf("process %d: %w", pid, err)
		}
		sum += stat.CPU
	}
	return sum, nil
}

// residentMegabytes is the largest of the processes.
func residentMegabytes(pids []int) (float64, error) {
	var largest float64
	for _, pid := range pids {
		data, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
		if err != nil {
			return 0, err
		}
		for line := range strings.Lines(string(data)) {
			value, ok := strings.CutPrefix(line, "VmRSS:")
			if !ok {
				continue
			}
			kib, err := strconv.ParseFloat(strings.Fields(value)[0], 64)
			if err != nil {
				return 0, err
			}
			largest = max(largest, kib/kibibytesPerMeg)
		}
	}
	return largest, nil
}

// longQueue fills the queue behind an exclusive job and lists it.
func longQueue(ctx context.Context, b *bench, c *cluster) error {
	if _, err := c.submit(ctx, "--exclusive", "-N", "2", "-n", "2", "sleep", "1000"); err != nil {
		return err
	}
	submitted := make(chan error, submitAtOnce)
	start := time.Now()
	for range submitAtOnce {
		go func() {
			for range queuedJobs / submitAtOnce {
				if _, err := c.submit(ctx, "-n", "1", "true"); err != nil {
					submitted <- err
					return
				}
			}
			submitted <- nil
		}()
	}
	for range submitAtOnce {
		if err := <-submitted; err != nil {
			return err
		}
	}
	b.single("queue_1000_submissions_by_scrun", queuedJobs/time.Since(start).Seconds(), "1/s", noTarget())
	var lists []float64
	for range b.runs {
		cmd := c.command(ctx, "scored", "job", "list")
		ms, err := milliseconds(cmd)
		if err != nil {
			return err
		}
		lists = append(lists, ms/1e3)
	}
	b.single("queue_1000_jobs_listed", median(lists), "s", atMost("value", listTarget))
	return nil
}
