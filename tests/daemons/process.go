package daemons

import (
	"bytes"
	"os"
	"path/filepath"
	"score/tests/processes"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// Mark is in the environment of a cluster's scruns and ranks, with its directory.
const Mark = "SCORE_TEST_DIR"

// Role is what a process of the cluster is.
type Role string

// The roles.
const (
	RoleServer  Role = "server"
	RoleAgent   Role = "agent"
	RoleSteward Role = "steward"
	RoleScrun   Role = "scrun"
	RoleRank    Role = "rank"
)

// Process is a process of the cluster.
type Process struct {
	PID     int
	Role    Role
	Node    string // of agents, stewards and ranks
	Slot    int    // of stewards
	Job     uint64 // of ranks, and of what they have started
	Command string
}

// Processes finds the living processes that belong to the cluster by their environment
// or command line.
func (c *Cluster) Processes() (found []Process) {
	for running := range processes.All() {
		if p, ours := c.identify(running.Command, running.Environ); ours {
			p.PID = running.PID
			found = append(found, p)
		}
	}
	return found
}

// identify derives a process's role from command line and environment.
func (c *Cluster) identify(command, environ []byte) (p Process, ours bool) {
	args := strings.Split(strings.TrimRight(string(command), "\x00"), "\x00")
	p.Command = strings.Join(args, " ")
	variables := make(map[string]string)
	for v := range bytes.SplitSeq(environ, []byte{0}) {
		name, value, _ := strings.Cut(string(v), "=")
		variables[name] = value
	}
	switch {
	case variables[Mark] == c.Dir && variables["SCORE_JOB_ID"] != "":
		p.Role, p.Node = RoleRank, variables["SCORE_NODE"]
		p.Job, _ = strconv.ParseUint(variables["SCORE_JOB_ID"], 10, 64) // the steward made it
	case variables[Mark] == c.Dir:
		p.Role = RoleScrun
	case option(args, "--cluster") == c.Name:
		p.Role, p.Node = RoleSteward, option(args, "--node")
		p.Slot, _ = strconv.Atoi(option(args, "--slot")) // the agent made it
	case !strings.Contains(p.Command, c.Dir):
		return p, false
	case len(args) > 1 && args[1] == string(RoleServer):
		p.Role = RoleServer
	default:
		p.Role = RoleAgent
		p.Node = strings.TrimSuffix(filepath.Base(option(args, "--config")), ".toml")
	}
	return p, true
}

// option returns the value that follows an option.
func option(args []string, name string) string {
	for i := range len(args) - 1 {
		if args[i] == name {
			return args[i+1]
		}
	}
	return ""
}

// Ranks returns the processes of a job on a node.
func (c *Cluster) Ranks(job uint64, node string) (found []Process) {
	for _, p := range c.Processes() {
		if p.Role == RoleRank && p.Job == job && p.Node == node {
			found = append(found, p)
		}
	}
	return found
}

// Of returns the processes of a role on a node.
func (c *Cluster) Of(role Role, node string) (found []Process) {
	for _, p := range c.Processes() {
		if p.Role == role && p.Node == node {
			found = append(found, p)
		}
	}
	return found
}

// Frozen reports whether a control group of the process was ordered to freeze.
func (p Process) Frozen() bool { return p.groupSays("cgroup.freeze", "1") }

// Still reports whether the kernel has frozen all processes of the process's control group.
func (p Process) Still() bool { return p.groupSays("cgroup.events", "frozen 1") }

// groupSays reports whether a file of a process's control group has a line.
func (p Process) groupSays(file, line string) bool {
	text, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(p.PID), "cgroup"))
	if err != nil {
		return false
	}
	for group := range strings.Lines(string(text)) {
		path, unified := strings.CutPrefix(strings.TrimSpace(group), "0::")
		if !unified {
			continue
		}
		for _, root := range cgroupRoots {
			if says, err := os.ReadFile(filepath.Join(root, path, file)); err == nil {
				return slices.Contains(strings.Split(string(says), "\n"), line)
			}
		}
	}
	return false
}

// KillNode kills all processes of a node by signal 9, as if its power were cut, and waits
// for the agent.
func (c *Cluster) KillNode(name string) {
	for _, p := range c.Processes() {
		if p.Node == name {
			_ = syscall.Kill(p.PID, syscall.SIGKILL) // the end of one may have ended it
		}
	}
	c.Agent(name).Kill()
}
