package daemons

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"score/channels/procstat"
	"score/cmd/scored/config"
	"score/scored/failpoint"
	"score/tests/hostclock"
	"sync"
	"syscall"
	"time"
)

// ErrStop means that a daemon did not end by itself and was killed.
var ErrStop = errors.New("a daemon did not end")

// Daemon is a server or agent, running or not.
type Daemon struct {
	Name string
	// Metrics is the address of an agent's metrics.
	Metrics string
	// Socket is a server's socket for users.
	Socket string
	// Bin is the directory of its program; empty: the cluster's. The next Start uses it.
	Bin string
	// Clock is the clock of its host; nil without Options.Clocks.
	Clock *hostclock.Clock

	cluster *Cluster
	kind    string
	mu      sync.Mutex
	command *exec.Cmd
	ended   chan struct{}
	join    string // token for its first start
}

func (c *Cluster) daemon(name, kind string) *Daemon {
	bins := map[string]string{"server": c.ServerBin, "agent": c.AgentBin}
	return &Daemon{Name: name, cluster: c, kind: kind, Bin: bins[kind]}
}

func (d *Daemon) config() string { return filepath.Join(d.cluster.Dir, d.Name+".toml") }

func (c *Cluster) run(d *Daemon, settings config.Config) error {
	if err := config.Write(d.config(), settings); err != nil {
		return err
	}
	return d.Start()
}

// Start starts the daemon, which must not run.
func (d *Daemon) Start() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	args := []string{d.kind, "--config", d.config()}
	if d.join != "" {
		args, d.join = append(args, "--join", d.join), ""
	}
	line := append([]string{filepath.Join(cmp.Or(d.Bin, d.cluster.Bin), "scored")}, args...)
	if network := d.cluster.Network; network != nil {
		line = network.on(d.Name, line...)
	}
	command := exec.Command(line[0], line[1:]...)
	command.Dir = d.cluster.Dir
	command.Env = append(append(os.Environ(), failpoint.Variable+"=@"+d.cluster.Points()), d.cluster.Env...)
	command.Stderr = d.cluster.stderr
	// Without this process nobody starts an agent again: its jobs must end with it. A service
	// manager gives daemons sessions, too: see parentwatch.Start.
	command.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGINT}
	if err := d.begin(command); err != nil {
		return err
	}
	ended := make(chan struct{})
	d.command, d.ended = command, ended
	go func() {
		_ = command.Wait() // only that it ended matters
		close(ended)
	}()
	return nil
}

// begin starts the process, by its host's clock if it has one. A service manager that comes back
// has the same clock.
func (d *Daemon) begin(command *exec.Cmd) (err error) {
	if !d.cluster.Clocks {
		return command.Start()
	}
	if d.Clock == nil {
		if d.Clock, err = hostclock.New(); err != nil {
			return err
		}
	}
	return d.Clock.Start(command)
}

// PID returns the number of the process, which may have ended.
func (d *Daemon) PID() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.command.Process.Pid
}

// Ended is closed when the process has ended.
func (d *Daemon) Ended() <-chan struct{} {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.ended
}

// State returns how the last process ended; nil while it runs.
func (d *Daemon) State() *os.ProcessState {
	d.mu.Lock()
	defer d.mu.Unlock()
	select {
	case <-d.ended:
		return d.command.ProcessState
	default:
		return nil
	}
}

// DataDir returns a server's data directory, with Options.Servers.
func (d *Daemon) DataDir() string { return filepath.Join(d.cluster.Dir, "data-"+d.Name) }

// Kill ends the daemon by signal 9 and waits.
func (d *Daemon) Kill() {
	_ = syscall.Kill(d.PID(), syscall.SIGKILL) // may have ended by itself
	<-d.Ended()
}

// Pause stops the process, and Continue lets it go on.
func (d *Daemon) Pause() { _ = syscall.Kill(d.PID(), syscall.SIGSTOP) }

// Continue lets a process go on that was stopped, by Pause or by a failpoint.
func (d *Daemon) Continue() { _ = syscall.Kill(d.PID(), syscall.SIGCONT) }

// Paused reports whether the process is stopped.
func (d *Daemon) Paused() bool {
	stat, err := procstat.Read(d.PID())
	return err == nil && stat.State == 'T'
}

// signal sends a signal that ends the daemon, if it runs.
func (d *Daemon) signal(signal syscall.Signal) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.command != nil {
		_ = d.command.Process.Signal(syscall.SIGCONT) // a failpoint may have stopped it
		_ = d.command.Process.Signal(signal)          // may have ended by itself
	}
}

// Stop ends the daemon in order and waits. The error wraps ErrStop.
func (d *Daemon) Stop() error {
	d.mu.Lock()
	ended := d.ended
	d.mu.Unlock()
	if ended == nil {
		return nil // it never ran
	}
	d.signal(syscall.SIGTERM)
	limit := time.NewTimer(Patience)
	defer limit.Stop()
	select {
	case <-ended:
		return nil
	case <-limit.C:
	}
	d.signal(syscall.SIGKILL)
	<-ended
	return fmt.Errorf("%w: %s, within %v; it was killed", ErrStop, d.Name, Patience)
}
