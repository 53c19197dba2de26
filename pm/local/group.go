package local

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"score/channels/abi"
	"score/pm"
	"strconv"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// Config says what to start.
type Config struct {
	Ranks int
	// Nodes is how many nodes this machine plays, each with its share of the ranks,
	// the first ones on the first; 0: one. It must divide Ranks.
	Nodes    int
	Geometry abi.Geometry
	// Command makes the command of a rank, not started. Environment and
	// descriptors are added to it.
	Command func(rank int) *exec.Cmd
	// CPUs pins rank i to CPUs[i mod len]; nothing is pinned if it is empty.
	CPUs []int
}

// Group is a running program.
type Group struct {
	hub     *Hub
	ranks   []*exec.Cmd
	running sync.WaitGroup // a goroutine for each rank
	done    sync.WaitGroup // the goroutine that started them
	errs    []error        // by rank; valid after done
}

// Start starts all ranks, or none that goes on running.
func Start(config Config) (*Group, error) {
	nodes := max(config.Nodes, 1)
	if config.Ranks%nodes != 0 {
		return nil, fmt.Errorf("local: %d ranks on %d nodes", config.Ranks, nodes)
	}
	hub, err := NewCluster(nodes, config.Ranks/nodes, config.Geometry)
	if err != nil {
		return nil, err
	}
	g := &Group{hub: hub, errs: make([]error, config.Ranks)}
	started := make(chan error)
	g.done.Go(func() { started <- g.startAll(config); g.running.Wait() })
	if err := <-started; err != nil {
		return nil, errors.Join(err, g.Close())
	}
	return g, nil
}

// startAll starts the ranks. They are killed when this process ends, which the kernel takes for the
// end of the thread that forked them; so the goroutine keeps it.
func (g *Group) startAll(config Config) error {
	runtime.LockOSThread()
	for rank := range config.Ranks {
		cmd := config.Command(rank)
		if err := g.start(cmd, rank, config.CPUs); err != nil {
			return fmt.Errorf("local: rank %d: %w", rank, err)
		}
		g.ranks = append(g.ranks, cmd)
		g.running.Go(func() {
			err := cmd.Wait()
			g.hub.Ended(rank)
			if err != nil {
				g.errs[rank] = fmt.Errorf("rank %d: %w", rank, err)
			}
		})
	}
	return nil
}

func (g *Group) start(cmd *exec.Cmd, rank int, cpus []int) error {
	socket, err := g.hub.Connect(rank)
	if err != nil {
		return err
	}
	defer socket.Close()
	if cmd.Env == nil {
		cmd.Env = os.Environ()
	}
	cmd.Env = append(cmd.Env, pm.EnvSocket+"="+strconv.Itoa(3+len(cmd.ExtraFiles)))
	cmd.ExtraFiles = append(cmd.ExtraFiles, socket)
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Pdeathsig = syscall.SIGKILL
	if len(cpus) == 0 {
		return cmd.Start()
	}
	return startOn(cmd, cpus[rank%len(cpus)])
}

// startOn starts a command on one processor: a child begins with the
// affinity of the thread that forks it. The goroutine must be locked to its thread.
func startOn(cmd *exec.Cmd, cpu int) error {
	var before, one unix.CPUSet
	if err := unix.SchedGetaffinity(0, &before); err != nil {
		return os.NewSyscallError("sched_getaffinity", err)
	}
	one.Set(cpu)
	if err := unix.SchedSetaffinity(0, &one); err != nil {
		return os.NewSyscallError("sched_setaffinity", err)
	}
	err := cmd.Start()
	return errors.Join(err, os.NewSyscallError("sched_setaffinity", unix.SchedSetaffinity(0, &before)))
}

// Hub is the group's hub: with it, contexts can be looked at while ranks run.
func (g *Group) Hub() *Hub { return g.hub }

// Kill kills a rank.
func (g *Group) Kill(rank int) error { return g.ranks[rank].Process.Kill() }

// Wait waits until all ranks ended. The error joins those of ranks that failed.
func (g *Group) Wait() error {
	g.done.Wait()
	return errors.Join(g.errs...)
}

// Close kills what still runs and frees everything. It may be called again and after Wait.
func (g *Group) Close() error {
	for _, cmd := range g.ranks {
		_ = cmd.Process.Kill() // it may have ended
	}
	g.done.Wait()
	return g.hub.Close()
}
