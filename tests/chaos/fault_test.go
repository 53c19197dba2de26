package chaos

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"score/tests/daemons"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// fault is something that happens to the cluster. An error is the test's, and ends it.
type fault struct {
	name   string
	weight int
	do     func(w *world, ctx context.Context, r *rand.Rand) error
}

// At most one server is away at a time, so that a majority decides.
var serverFaults = []fault{
	{"server killed", 4, serverAway(syscall.SIGKILL)},
	{"server ended", 4, serverAway(syscall.SIGTERM)},
	{"server stopped", 3, serverStopped},
	{"server cut off", 2, serverCut},
	{"server's disk full", 2, diskFull},
	{"server's directory lost", 1, serverLost},
}

var nodeFaults = []fault{
	{"agent killed", 4, agentAway(syscall.SIGKILL)},
	{"agent ended", 4, agentAway(syscall.SIGTERM)},
	{"agent killed, steward stopped", 2, agentAwayStewardStopped},
	{"agent stopped", 2, agentStopped},
	{"steward killed", 2, killOne(daemons.RoleSteward)},
	{"rank killed", 3, killOne(daemons.RoleRank)},
	{"node gone", 1, nodeGone},
	{"node cut off", 1, nodeCut},
}

var programFaults = []fault{
	{"scrun stopped", 3, scrunStopped},
	{"scrun killed", 1, scrunKilled},
	{"steward stopped", 1, stewardStopped},
}

const (
	// maxPause is the longest time between two faults of one menu.
	maxPause = 3 * time.Second
	// endsWithin is longer than a server takes to end that could not write.
	endsWithin = 2 * time.Second
	// maxAway is how long a daemon is away at most: less than a leader waits for an agent (10 s).
	maxAway = 2 * time.Second
	// notLost is how long an agent may be away, with its start on a busy machine, without its jobs
	// being given up.
	notLost = 8 * time.Second
)

// injure lets faults happen, one after the other, until ctx ends.
func (w *world) injure(ctx context.Context, r *rand.Rand, menu []fault) {
	var all []fault
	for _, f := range menu {
		all = append(all, slices.Repeat([]fault{f}, f.weight)...)
	}
	for pause(ctx, short(r, maxPause)) {
		f := pick(r, all)
		if err := f.do(w, ctx, r); err != nil {
			w.T.Errorf("%s: %v", f.name, err)
			return
		}
	}
}

// short draws a time.
func short(r *rand.Rand, limit time.Duration) time.Duration {
	return time.Duration(r.Int64N(int64(limit-limit/10))) + limit/10
}

// pause lets time pass, which is what these faults are made of; it reports whether there is more.
func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

func pick[T any](r *rand.Rand, of []T) T { return of[r.IntN(len(of))] }

// away ends a daemon by a signal, waits, and starts it again.
func (w *world) away(ctx context.Context, d *daemons.Daemon, signal syscall.Signal, r *rand.Rand) error {
	_ = syscall.Kill(d.PID(), signal)
	<-d.Ended()
	pause(ctx, short(r, maxAway))
	return d.Start()
}

func serverAway(signal syscall.Signal) func(*world, context.Context, *rand.Rand) error {
	name := map[syscall.Signal]string{syscall.SIGKILL: "server killed", syscall.SIGTERM: "server ended"}[signal]
	return func(w *world, ctx context.Context, r *rand.Rand) error {
		d := pick(r, w.OtherServers(nil))
		defer w.hold(d)()
		defer w.begin(name, d.Name)(false)
		return w.away(ctx, d, signal, r)
	}
}

// stopped stops a process for a while.
func stopped(ctx context.Context, pid int, r *rand.Rand) {
	_ = unix.Kill(pid, unix.SIGSTOP)
	pause(ctx, short(r, maxAway))
	_ = unix.Kill(pid, unix.SIGCONT)
}

func serverStopped(w *world, ctx context.Context, r *rand.Rand) error {
	d := pick(r, w.OtherServers(nil))
	defer w.hold(d)()
	defer w.begin("server stopped", d.Name)(false)
	stopped(ctx, d.PID(), r)
	return nil
}

func serverCut(w *world, ctx context.Context, r *rand.Rand) error {
	d := pick(r, w.OtherServers(nil))
	defer w.begin("server cut off", d.Name)(false)
	return w.cut(ctx, d.Name, r)
}

// cut takes the cable from a host for a while.
func (w *world) cut(ctx context.Context, host string, r *rand.Rand) error {
	others := w.Network.Others(host)
	err := w.Network.CutOff(host, others...)
	pause(ctx, short(r, maxAway))
	return errors.Join(err, w.Network.Restore(host))
}

// diskFull fills the file system of a server's data. The server ends (exit code 74) when it has to
// write, and is started again when there is room.
func diskFull(w *world, ctx context.Context, r *rand.Rand) error {
	d := pick(r, w.OtherServers(nil))
	defer w.hold(d)()
	defer w.begin("server's disk full", d.Name)(false)
	filler := filepath.Join(d.DataDir(), "filler")
	if err := fill(filler); err != nil {
		return err
	}
	pause(ctx, short(r, maxAway))
	if err := os.Remove(filler); err != nil {
		return err
	}
	select {
	case <-d.Ended():
		return d.Start()
	case <-time.After(endsWithin):
		return nil // it had nothing to write
	}
}

// fill writes a file until there is no room.
func fill(path string) error {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	defer file.Close()
	if _, err := io.Copy(file, zeros{}); !errors.Is(err, unix.ENOSPC) {
		return err
	}
	return nil
}

type zeros struct{}

func (zeros) Read(b []byte) (int, error) { return len(b), nil }

// serverLost ends a server for good, with its directory; another one takes its place. The first
// stays: this test asks it.
func serverLost(w *world, ctx context.Context, r *rand.Rand) error {
	w.mu.Lock()
	none := len(w.spares) == 0
	w.mu.Unlock()
	if none {
		return nil
	}
	d := pick(r, w.OtherServers(w.Server))
	defer w.hold(d)()
	defer w.begin("server's directory lost", d.Name)(true)
	d.Kill()
	if err := os.RemoveAll(d.DataDir()); err != nil && !errors.Is(err, unix.EBUSY) { // it is mounted
		return err
	}
	ctx = context.WithoutCancel(ctx) // half of it would be another fault
	var last error
	err := daemons.Await(ctx, "the lost server is removed", func() bool {
		_, last = w.Command(ctx, w.Socket(), "server", "remove", d.Name)
		return last == nil || strings.Contains(last.Error(), "no server") // an answer was lost
	})
	if err != nil {
		return errors.Join(err, last)
	}
	if err := w.RemoveServer(ctx, d); err != nil {
		return err
	}
	w.mu.Lock()
	name := w.spares[0]
	w.spares = w.spares[1:]
	w.mu.Unlock()
	next, err := w.AddServer(ctx, name)
	if err != nil {
		return err
	}
	w.watch(next)
	return nil
}

func agentAway(signal syscall.Signal) func(*world, context.Context, *rand.Rand) error {
	name := map[syscall.Signal]string{syscall.SIGKILL: "agent killed", syscall.SIGTERM: "agent ended"}[signal]
	return func(w *world, ctx context.Context, r *rand.Rand) error {
		d := pick(r, w.Agents)
		defer w.hold(d)()
		return w.agentGone(ctx, name, d, func() error { return w.away(ctx, d, signal, r) })
	}
}

// agentGone notes whether the agent was away for so long that its jobs were given up.
func (w *world) agentGone(ctx context.Context, name string, d *daemons.Daemon, do func() error) error {
	began, end := time.Now(), w.begin(name, d.Name)
	err := do()
	if err == nil {
		err = daemons.Await(context.WithoutCancel(ctx), "agent "+d.Name+" is back", func() bool {
			connected, err := d.Metric("score_agent_connected")
			return d.State() != nil || err == nil && connected == 1
		})
	}
	end(time.Since(began) > notLost)
	return err
}

// agentAwayStewardStopped is an agent that comes back while a steward does not answer.
func agentAwayStewardStopped(w *world, ctx context.Context, r *rand.Rand) error {
	d := pick(r, w.Agents)
	stewards := w.Of(daemons.RoleSteward, d.Name)
	if len(stewards) == 0 {
		return nil
	}
	steward := pick(r, stewards)
	defer w.hold(d)()
	defer w.begin("agent killed, steward stopped", d.Name)(true) // that steward's job, if it has one
	_ = unix.Kill(steward.PID, unix.SIGSTOP)
	d.Kill()
	pause(ctx, short(r, maxAway))
	err := d.Start()
	var sweep sync.WaitGroup
	sweep.Go(func() { // it comes back while the agent sweeps, or after
		pause(ctx, short(r, notLost))
		_ = unix.Kill(steward.PID, unix.SIGCONT)
	})
	sweep.Wait()
	return err
}

func agentStopped(w *world, ctx context.Context, r *rand.Rand) error {
	d := pick(r, w.Agents)
	defer w.hold(d)()
	defer w.begin("agent stopped", d.Name)(true) // a neighbour may take it for hung
	stopped(ctx, d.PID(), r)
	return nil
}

// killOne kills a process of some node.
func killOne(role daemons.Role) func(*world, context.Context, *rand.Rand) error {
	return func(w *world, _ context.Context, r *rand.Rand) error {
		node := pick(r, nodes)
		processes := w.Of(role, node)
		if len(processes) == 0 {
			return nil
		}
		defer w.begin(string(role)+" killed", node)(true)
		return ignoreGone(unix.Kill(pick(r, processes).PID, unix.SIGKILL))
	}
}

func ignoreGone(err error) error {
	if errors.Is(err, unix.ESRCH) {
		return nil
	}
	return err
}

// nodeGone ends everything on a node at once, and its directory is lost with it.
func nodeGone(w *world, ctx context.Context, r *rand.Rand) error {
	d := pick(r, w.Agents)
	defer w.hold(d)()
	defer w.begin("node gone", d.Name)(true)
	w.KillNode(d.Name)
	pause(ctx, short(r, maxAway))
	if err := os.RemoveAll(filepath.Join(w.Dir, "run", d.Name)); err != nil {
		return err
	}
	return d.Start()
}

func nodeCut(w *world, ctx context.Context, r *rand.Rand) error {
	node := pick(r, nodes)
	defer w.begin("node cut off", node)(true)
	return w.cut(ctx, node, r)
}

func stewardStopped(w *world, ctx context.Context, r *rand.Rand) error {
	node := pick(r, nodes)
	stewards := w.Of(daemons.RoleSteward, node)
	if len(stewards) == 0 {
		return nil
	}
	defer w.begin("steward stopped", node)(true) // who does not answer is taken for crashed after some seconds
	stopped(ctx, pick(r, stewards).PID, r)
	return nil
}

// some returns a submission under way; nil: there is none.
func (w *world) some(r *rand.Rand) *submission {
	w.mu.Lock()
	defer w.mu.Unlock()
	var all []*submission
	for s := range w.running {
		all = append(all, s)
	}
	if len(all) == 0 {
		return nil
	}
	slices.SortFunc(all, func(a, b *submission) int { return strings.Compare(a.token, b.token) })
	return pick(r, all)
}

func scrunStopped(w *world, ctx context.Context, r *rand.Rand) error {
	s := w.some(r)
	if s == nil {
		return nil
	}
	defer w.begin("scrun stopped", s.token)(false)
	stopped(ctx, s.command.Process.Pid, r)
	return nil
}

func scrunKilled(w *world, _ context.Context, r *rand.Rand) error {
	s := w.some(r)
	if s == nil {
		return nil
	}
	defer w.begin("scrun killed", s.token)(true)
	w.mu.Lock()
	s.killed = true
	w.mu.Unlock()
	return ignoreGone(unix.Kill(s.command.Process.Pid, unix.SIGKILL))
}
