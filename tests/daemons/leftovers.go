package daemons

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"score/channels/procstat"
	"score/nodeagent/mpidirs"
	"score/tests/await"
	"strconv"
	"strings"
)

// cgroupRoots are where the agents' control groups may be.
var cgroupRoots = []string{"/sys/fs/cgroup/unified", "/sys/fs/cgroup", "/sys/fs/cgroup/memory", "/sys/fs/cgroup/pids"}

// slotSocket is the name of a steward's socket in the agent's directory.
var slotSocket = regexp.MustCompile(`^s-(\d+)\.sock$`)

// AwaitClean waits until nothing is left of jobs that are not living: no process, memory
// of a channel, socket, control group or file. The error lists what is.
func (c *Cluster) AwaitClean(ctx context.Context, living map[uint64]bool) error {
	var left []string
	err := Await(ctx, "clean", func() bool {
		left = c.leftovers(living)
		return len(left) == 0
	})
	if err != nil {
		return fmt.Errorf("%w:\n  %s", err, strings.Join(left, "\n  "))
	}
	return nil
}

// AwaitForgotten waits until the agents know that the ends of all jobs are committed: what is left
// of others they leave to their successors.
func (c *Cluster) AwaitForgotten(ctx context.Context) error {
	for _, agent := range c.Agents {
		err := Await(ctx, "agent "+agent.Name+" holds no job", func() bool {
			jobs, err := agent.Metric("score_agent_jobs")
			return err == nil && jobs == 0
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// node is what one node holds.
type node struct {
	*Cluster
	name     string
	stewards map[int]bool // by slot
	ranks    map[int]bool // by process
	daemons  map[int]bool // the stewards' processes: those limit their memory, too
	jobs     map[uint64]bool
	udp      map[string]bool // links of all UDP sockets
}

// leftovers lists what belongs to no living job, daemon or steward.
func (c *Cluster) leftovers(living map[uint64]bool) (left []string) {
	processes, udp := c.Processes(), udpSockets()
	for _, a := range c.Agents {
		n := node{Cluster: c, name: a.Name, stewards: map[int]bool{}, ranks: map[int]bool{}, daemons: map[int]bool{}, jobs: map[uint64]bool{}, udp: udp}
		for _, p := range processes {
			if p.Node != a.Name {
				continue
			}
			switch {
			case p.Role == RoleSteward && n.stewards[p.Slot]:
				left = append(left, fmt.Sprintf("a second steward of slot %d on %s, process %d", p.Slot, a.Name, p.PID))
			case p.Role == RoleSteward:
				n.stewards[p.Slot], n.daemons[p.PID] = true, true
			case p.Role == RoleRank && living[p.Job]:
				n.ranks[p.PID], n.jobs[p.Job] = true, true
			case p.Role == RoleRank:
				left = append(left, fmt.Sprintf("process %d of job %d on %s: %s", p.PID, p.Job, a.Name, p.Command))
			}
		}
		left = append(left, n.files()...)
		left = append(left, n.jobFiles(living)...)
		left = append(left, n.groups()...)
		for _, p := range processes {
			if p.Node == a.Name {
				left = append(left, n.descriptors(p)...)
			}
		}
	}
	return left
}

// files returns the files in the agent's directory that no living steward has. Names without a
// number are the agent's own.
func (n *node) files() (left []string) {
	entries, err := os.ReadDir(filepath.Join(n.runDir(), n.name))
	if err != nil {
		return nil
	}
	for _, e := range entries {
		match := slotSocket.FindStringSubmatch(e.Name())
		if match == nil {
			if strings.ContainsAny(e.Name(), "0123456789") {
				left = append(left, fmt.Sprintf("file %s of %s", e.Name(), n.name))
			}
			continue
		}
		if slot, _ := strconv.Atoi(match[1]); !n.stewards[slot] {
			left = append(left, fmt.Sprintf("socket %s of %s without a steward", e.Name(), n.name))
		}
	}
	return left
}

// jobFiles returns the jobs' directories, and those of their ranks in /dev/shm and /tmp.
func (n *node) jobFiles(living map[uint64]bool) (left []string) {
	prefix := n.filesPrefix(n.name)
	for _, path := range mpidirs.Find(prefix) {
		if !living[mpidirs.Job(prefix, filepath.Base(path))] {
			left = append(left, fmt.Sprintf("files %s of %s", path, n.name))
		}
	}
	dirs, _ := filepath.Glob(filepath.Join(n.stageDir(), n.name+".jobs-*", "*")) // the pattern is right
	for _, dir := range dirs {
		number, _, _ := strings.Cut(filepath.Base(dir), "-")
		if job, err := strconv.ParseUint(number, 10, 64); err != nil || !living[job] {
			left = append(left, fmt.Sprintf("directory %s of %s", dir, n.name))
		}
	}
	return left
}

// filesPrefix begins the names of a node's jobs' files.
func (c *Cluster) filesPrefix(node string) string {
	return mpidirs.Prefix(c.Name, node, filepath.Join(c.runDir(), node))
}

// groups returns control groups without a steward, and processes in control groups that are no
// rank's.
func (n *node) groups() (left []string) {
	for _, root := range cgroupRoots {
		slots, _ := filepath.Glob(filepath.Join(root, "score."+n.Name+"."+n.name, "s-*"))
		for _, group := range slots {
			slot, err := strconv.Atoi(strings.TrimPrefix(filepath.Base(group), "s-"))
			if err != nil || !n.stewards[slot] {
				left = append(left, "control group "+group+" without a steward")
			}
			pids, _ := os.ReadFile(filepath.Join(group, "cgroup.procs"))
			for _, pid := range strings.Fields(string(pids)) {
				if number, err := strconv.Atoi(pid); err == nil && !n.ranks[number] && !n.daemons[number] && !exited(number) {
					left = append(left, fmt.Sprintf("process %d in %s", number, group))
				}
			}
		}
	}
	return left
}

// exited reports whether a process is gone, but for its status.
func exited(pid int) bool {
	stat, err := procstat.Read(pid)
	return procstat.Gone(err) || err == nil && stat.Exited()
}

// descriptors returns the descriptors of channels that a process has beyond those of living jobs:
// the programs open one channel per rank.
func (n *node) descriptors(p Process) (left []string) {
	contexts, places, sockets := n.count(p.PID)
	maxSockets := 2 * len(n.ranks) // for each port its socket and one that only sends
	if p.Role == RoleAgent {
		maxSockets++ // the directory
	}
	for _, held := range []struct {
		what       string
		has, limit int
	}{
		{"images of contexts", contexts, len(n.ranks)},
		{"maps of places", places, len(n.jobs)},
		{"UDP sockets", sockets, maxSockets},
	} {
		if held.has > held.limit {
			left = append(left, fmt.Sprintf("%s %d on %s has %d %s, at most %d are due", p.Role, p.PID, n.name, held.has, held.what, held.limit))
		}
	}
	return left
}

// count counts a process's descriptors of channels.
func (n *node) count(pid int) (contexts, places, sockets int) {
	dir := filepath.Join("/proc", strconv.Itoa(pid), "fd")
	entries, err := os.ReadDir(dir)
	if err != nil {
		return 0, 0, 0 // it has just ended
	}
	for _, e := range entries {
		link, err := os.Readlink(filepath.Join(dir, e.Name()))
		switch {
		case err != nil:
		case strings.HasPrefix(link, "/memfd:score-ctx"):
			contexts++
		case strings.HasPrefix(link, "/memfd:score-places"):
			places++
		case n.udp[link]:
			sockets++
		}
	}
	return contexts, places, sockets
}

// udpSockets returns the UDP sockets of this machine, as links of descriptors show them.
func udpSockets() map[string]bool {
	const inode = 9 // field of /proc/net/udp
	sockets := make(map[string]bool)
	for _, file := range []string{"/proc/net/udp", "/proc/net/udp6"} {
		text, err := os.ReadFile(file)
		if err != nil {
			continue // there is no such protocol
		}
		for line := range strings.Lines(string(text)) {
			if fields := strings.Fields(line); len(fields) > inode {
				sockets["socket:["+fields[inode]+"]"] = true
			}
		}
	}
	return sockets
}

// AwaitGone waits, after Stop, until nothing of the cluster is left on the machine but its
// configuration and its committed state. Stewards of jobs whose ends their agents had not learnt
// wait for new agents, for the grace.
func (c *Cluster) AwaitGone(ctx context.Context) error {
	var left []string
	err := await.Within(ctx, c.Grace+Patience, "gone", func() bool {
		left = c.remains()
		return len(left) == 0
	})
	if err != nil {
		return fmt.Errorf("%w:\n  %s", err, strings.Join(left, "\n  "))
	}
	return nil
}

func (c *Cluster) remains() (left []string) {
	for _, p := range c.Processes() {
		left = append(left, fmt.Sprintf("%s %d: %s", p.Role, p.PID, p.Command))
	}
	for _, root := range cgroupRoots {
		groups, _ := filepath.Glob(filepath.Join(root, "score."+c.Name+".*"))
		left = append(left, groups...)
	}
	for _, a := range c.Agents {
		left = append(left, mpidirs.Find(c.filesPrefix(a.Name))...)
	}
	files, _ := filepath.Glob(filepath.Join(c.runDir(), "*", "*"))
	for _, file := range files {
		if strings.ContainsAny(filepath.Base(file), "0123456789") {
			left = append(left, file)
		}
	}
	// A path of a socket may outlive its file.
	unix, _ := os.ReadFile("/proc/net/unix")
	for line := range strings.Lines(string(unix)) {
		if strings.Contains(line, c.Dir+"/") {
			left = append(left, "socket "+strings.TrimSpace(line))
		}
	}
	return left
}
