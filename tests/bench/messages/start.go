package messages

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"score/channels/abi"
	"score/pm"
	"score/pm/local"

	"golang.org/x/sys/unix"
)

// ErrCPUs means that the two sides of a measurement would have to share a processor.
var ErrCPUs = errors.New("messages are measured on two processors; this process may use one only")

// CPUs are the two processors that measurements use.
func CPUs() ([2]int, error) {
	var set unix.CPUSet
	if err := unix.SchedGetaffinity(0, &set); err != nil {
		return [2]int{}, os.NewSyscallError("sched_getaffinity", err)
	}
	var found []int
	for cpu := 0; cpu < len(set)*64 && len(found) < 2; cpu++ {
		if set.IsSet(cpu) {
			found = append(found, cpu)
		}
	}
	if len(found) < 2 {
		return [2]int{}, ErrCPUs
	}
	return [2]int(found), nil
}

// job is what to start as ranks.
type job struct {
	role         string
	ranks, nodes int
	cpus         []int
	geometry     abi.Geometry
	env          []string
}

// running is a job that was started.
type running struct {
	*local.Group
	out []*output  // by rank
	in  []*os.File // by rank: a rank that waits for its end goes on when it is closed
}

func start(j job) (*running, error) {
	r := &running{}
	for range j.ranks {
		r.out = append(r.out, newOutput())
	}
	var ours []*os.File
	defer func() {
		for _, f := range ours {
			f.Close()
		}
	}()
	var failed error
	group, err := local.Start(local.Config{Ranks: j.ranks, Nodes: j.nodes, Geometry: j.geometry, CPUs: j.cpus, Command: func(rank int) *exec.Cmd {
		stdin, hold, err := os.Pipe()
		failed = errors.Join(failed, err)
		ours, r.in = append(ours, stdin), append(r.in, hold)
		cmd := exec.Command("/proc/self/exe")
		cmd.Env = append(append(os.Environ(), roleVariable+"="+j.role), j.env...)
		cmd.Stdin, cmd.Stdout, cmd.Stderr = stdin, r.out[rank], os.Stderr
		return cmd
	}})
	if err != nil {
		return nil, errors.Join(err, failed)
	}
	r.Group = group
	return r, failed
}

// release lets the ranks go that wait for it.
func (r *running) release() {
	for _, f := range r.in {
		f.Close()
	}
}

// finish waits for the ranks, and ends them if the context does.
func (r *running) finish(ctx context.Context) error {
	stop := context.AfterFunc(ctx, r.kill)
	defer stop()
	r.release()
	return errors.Join(r.Wait(), r.Close(), ctx.Err())
}

func (r *running) kill() {
	for rank := range r.out {
		_ = r.Kill(rank) // it may have ended
	}
}

// Switches are the two of the library that the curves compare.
type Switches struct{ Immediate, Overlap bool }

// Ours measures a plan with the library.
func Ours(ctx context.Context, path Path, plan Plan, s Switches) (Curve, error) {
	out, err := runPair(ctx, path, "curve", append(s.environment(), planVariable+"="+plan.String()))
	if err != nil {
		return Curve{}, err
	}
	return ParseCurve(out)
}

// OfLayer measures a plan with a layer of the messaging stack.
func OfLayer(ctx context.Context, path Path, plan Plan, l Layer) (Curve, error) {
	out, err := runPair(ctx, path, "layer", append(l.environment(), planVariable+"="+plan.String()))
	if err != nil {
		return Curve{}, err
	}
	return ParseCurve(out)
}

// runPair runs two ranks, each on a processor of its own, and returns what rank 0 printed.
func runPair(ctx context.Context, path Path, role string, env []string) (string, error) {
	cpus, err := CPUs()
	if err != nil {
		return "", err
	}
	j := job{role: role, ranks: 2, nodes: 1, cpus: cpus[:], env: env}
	if path == UDP {
		j.nodes = 2
	}
	r, err := start(j)
	if err != nil {
		return "", err
	}
	if err := r.finish(ctx); err != nil {
		return "", fmt.Errorf("ranks (%s) by %s: %w", role, path, err)
	}
	return r.out[0].String(), nil
}

func (s Switches) environment() []string {
	word := map[bool]string{true: "1", false: "0"}
	return []string{pm.EnvImmediate + "=" + word[s.Immediate], pm.EnvOverlap + "=" + word[s.Overlap]}
}
