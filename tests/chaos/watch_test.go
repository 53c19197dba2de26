package chaos

import (
	"fmt"
	"os"
	"score/tests/daemons"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// watch finds out when a daemon ends that nothing was done to, which is an error, until the test
// ends.
func (w *world) watch(d *daemons.Daemon) {
	mu := new(sync.Mutex)
	w.mu.Lock()
	w.watching[d] = mu
	w.mu.Unlock()
	go func() {
		for {
			ended := d.Ended()
			select {
			case <-ended:
			case <-w.Ctx.Done():
				return
			}
			mu.Lock()
			if w.Ctx.Err() == nil && w.member(d) && d.State() != nil {
				w.T.Errorf("%s ended by itself: %v", d.Name, d.State())
				if err := d.Start(); err != nil {
					w.T.Errorf("%s: %v", d.Name, err)
				}
			}
			mu.Unlock()
			if !w.member(d) {
				return
			}
		}
	}()
}

// member reports whether a daemon was not removed from the cluster.
func (w *world) member(d *daemons.Daemon) bool {
	return w.Agent(d.Name) == d || w.ServerNamed(d.Name) == d
}

// hold reports that something is done to a daemon, until release.
func (w *world) hold(d *daemons.Daemon) (release func()) {
	w.mu.Lock()
	mu := w.watching[d]
	w.mu.Unlock()
	mu.Lock()
	return mu.Unlock
}

// needs are what the daemons take of the machine, by name.
type needs map[string]need

type need struct {
	memory      int // bytes resident
	descriptors int
}

const (
	// memoryMore is what a daemon may need beyond what it needed at the beginning: its heap may
	// have doubled between two collections, and the history of jobs is kept in memory.
	memoryMore = 96 << 20
	// descriptorsMore allows for connections that come and go.
	descriptorsMore = 24
)

func (w *world) needs() needs {
	all := needs{}
	for _, d := range w.OtherServers(nil) {
		all[d.Name] = needOf(d.PID())
	}
	for _, d := range w.Agents {
		all[d.Name] = needOf(d.PID())
	}
	return all
}

func needOf(pid int) (n need) {
	status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	for line := range strings.Lines(string(status)) {
		if rest, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			kilobytes, _ := strconv.Atoi(strings.Fields(rest)[0])
			n.memory = kilobytes << 10
		}
	}
	entries, _ := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
	n.descriptors = len(entries)
	return n
}

// largest is the most that any daemon of a kind needs; all of a kind have the same to do in the
// course of a run.
func (n needs) largest(kind string) (largest need) {
	for name, one := range n {
		if strings.HasPrefix(name, kind) {
			largest.memory, largest.descriptors = max(largest.memory, one.memory), max(largest.descriptors, one.descriptors)
		}
	}
	return largest
}

// within compares with what daemons of the same kind needed before.
func (n needs) within(t *testing.T, before needs) {
	t.Helper()
	for name, now := range n {
		was := before.largest(name[:1])
		t.Logf("%s: %d MB, %d descriptors; before %d MB, %d", name, now.memory>>20, now.descriptors, was.memory>>20, was.descriptors)
		if now.memory == 0 || now.memory > was.memory+memoryMore || now.descriptors > was.descriptors+descriptorsMore {
			t.Errorf("%s needs %d MB and %d descriptors, before it %d and %d", name, now.memory>>20, now.descriptors, was.memory>>20, was.descriptors)
		}
	}
}
