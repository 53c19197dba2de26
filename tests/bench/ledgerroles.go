package main

import (
	"maps"
	"os"
	"path/filepath"
	"score/nodeagent/realtime"
	"score/tests/bench/ledger"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Roles of threads. The thread of a rank that ran longest is its main thread; the others are
// counted apart.
const (
	roleRank     = "ranks"
	roleFurther  = "ranks_further_threads"
	roleSwitcher = "agent_switching_thread"
	roleDriver   = "agent_driving_thread"
	roleAgent    = "agent_further_threads"
	roleSteward  = "stewards"
	roleServer   = "server"
	roleOther    = "others"
	roleIdle     = "idle"
)

// daemonRoles are the roles of a node's daemons, and the server's.
var daemonRoles = []string{roleSwitcher, roleDriver, roleAgent, roleSteward, roleServer}

// thread is what a thread is for.
type thread struct {
	pid  int
	role string
}

// roles returns the roles of all threads that exist now; the ranks run the file.
func (c *cluster) roles(file string) (map[int]thread, error) {
	roles := map[int]thread{}
	ranks, err := running(file)
	if err != nil {
		return nil, err
	}
	note(roles, roleRank, ranks...)
	note(roles, roleServer, c.PID())
	agents, err := children(c.PID(), "agent")
	if err != nil {
		return nil, err
	}
	note(roles, roleAgent, agents...)
	for _, agent := range agents {
		stewards, err := children(agent, "steward")
		if err != nil {
			return nil, err
		}
		note(roles, roleSteward, stewards...)
	}
	for id, t := range roles {
		if t.role == roleAgent {
			roles[id] = thread{t.pid, agentThread(t.pid, id)}
		}
	}
	return roles, nil
}

// running are the processes that run a file, but this one.
func running(file string) (pids []int, err error) {
	links, err := filepath.Glob("/proc/[0-9]*/exe")
	for _, link := range links {
		pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(link)))
		if exe, err := os.Readlink(link); err == nil && exe == file && pid != os.Getpid() {
			pids = append(pids, pid)
		}
	}
	return pids, err
}

// note gives all threads of processes a role.
func note(roles map[int]thread, role string, pids ...int) {
	for _, pid := range pids {
		tasks, _ := filepath.Glob("/proc/" + strconv.Itoa(pid) + "/task/*") // the pattern is right
		for _, task := range tasks {
			id, _ := strconv.Atoi(filepath.Base(task))
			roles[id] = thread{pid, role}
		}
	}
}

// agentThread tells an agent's threads apart by their real-time priority.
func agentThread(pid, id int) string {
	switch priority(pid, id) {
	case realtime.SwitchPriority:
		return roleSwitcher
	case realtime.DrivePriority:
		return roleDriver
	default:
		return roleAgent
	}
}

// priority is a thread's real-time priority, 0 if it has none; see proc_pid_stat(5), field 40.
func priority(pid, id int) int {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/task/" + strconv.Itoa(id) + "/stat")
	_, after, ok := strings.Cut(string(text), ") ")
	fields := strings.Fields(after)
	const field = 40 - 3
	if err != nil || !ok || len(fields) <= field {
		return 0
	}
	n, _ := strconv.Atoi(fields[field])
	return n
}

// account is what each role had of the CPUs.
type account struct {
	roles  map[string]ledger.Entry
	length time.Duration // of all CPUs together
}

func newAccount(l *ledger.Ledger, threads map[int]thread) *account {
	first := map[int]int{} // by rank's process: the thread that had the CPUs longest
	for id, t := range threads {
		if best, ok := first[t.pid]; t.role == roleRank && (!ok || l.Threads[id].Time > l.Threads[best].Time) {
			first[t.pid] = id
		}
	}
	a := &account{roles: map[string]ledger.Entry{}, length: l.Length}
	for id, e := range l.Threads {
		t, known := threads[id]
		role := t.role
		switch {
		case id == ledger.Idle:
			role = roleIdle
		case !known:
			role = roleOther
		case role == roleRank && first[t.pid] != id:
			role = roleFurther
		}
		sum := a.roles[role]
		a.roles[role] = ledger.Entry{Time: sum.Time + e.Time, Runs: sum.Runs + e.Runs}
	}
	return a
}

// figures tells what each role had of a slice on a node, which has one CPU, and how often it was
// let onto it.
func (a *account) figures(b *bench, name string, slice time.Duration, bound target) {
	count := float64(a.length) / float64(slice)
	sum := 0.0
	for _, role := range slices.Sorted(maps.Keys(a.roles)) {
		e := a.roles[role]
		micros := float64(e.Time.Nanoseconds()) / 1e3 / count
		if slices.Contains(daemonRoles, role) {
			sum += micros
		}
		b.single(name+"_"+role, micros, "us", noTarget())
		b.single(name+"_"+role+"_runs", float64(e.Runs)/count, "runs", noTarget())
	}
	b.single(name+"_daemons", sum, "us", bound)
}
