package gang

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// check refuses malformed requests and requests that the cluster can never hold.
func (m *Machine) check(r *Request) error {
	if err := checkForm(r); err != nil {
		return err
	}
	if m.jobs[r.ID] != nil {
		return fmt.Errorf("%w: %d", ErrDuplicateJob, r.ID)
	}
	if r.Again {
		return nil
	}
	if len(m.nodes) == 0 {
		return fmt.Errorf("%w: the cluster has none yet; wait until 'scored node list' shows some", ErrNoNodes)
	}
	for _, id := range r.NodeList {
		if m.byNode[id] == nil {
			return fmt.Errorf("%w: the node list names %s, which the cluster does not have", ErrUnknownNode, id)
		}
	}
	if r.With != 0 {
		return nil // the gang's nodes count, not the cluster; see checkJoin
	}
	if err := m.checkOwner(r); err != nil {
		return err
	}
	return m.checkSize(r)
}

func checkForm(r *Request) error {
	bad := func(format string, args ...any) error {
		return fmt.Errorf("%w: %s", ErrBadRequest, fmt.Sprintf(format, args...))
	}
	switch {
	case r.ID == 0:
		return bad("job id 0")
	case r.Tasks < 1 || r.Tasks > MaxTasks:
		return bad("%d tasks, must be 1 to %d", r.Tasks, MaxTasks)
	case r.Nodes < 0:
		return bad("%d nodes, must be 1 or more", r.Nodes)
	case r.Nodes > r.Tasks:
		return bad("%d nodes for %s: each node must have a task", r.Nodes, plural(r.Tasks, "task"))
	case r.CPUsPerTask < 1:
		return bad("%d CPUs per task, must be 1 or more", r.CPUsPerTask)
	case r.MemPerNode < 0 || r.MemPerNode > MaxMemory:
		return bad("%d bytes of memory per node", r.MemPerNode)
	case r.Channels < 0 || r.Channels > MaxChannelsPerRank:
		return bad("%d channels per task, must be 0 to %d", r.Channels, MaxChannelsPerRank)
	case r.Priority < -MaxPriority || r.Priority > MaxPriority:
		return bad("priority %d, must be %d to %d", r.Priority, -MaxPriority, MaxPriority)
	case r.TimeLimit < 0 || r.TimeLimit > MaxTimeLimit:
		return bad("time limit %v, must be up to %v", r.TimeLimit, MaxTimeLimit)
	case r.Submitted < 0:
		return bad("submitted at %d ns", r.Submitted)
	case len(r.NodeList) > r.Tasks:
		return bad("%d nodes listed for %s", len(r.NodeList), plural(r.Tasks, "task"))
	case r.Nodes > 0 && len(r.NodeList) > r.Nodes:
		return bad("%d nodes listed, but %s asked for", len(r.NodeList), plural(r.Nodes, "node"))
	}
	seen := make(map[NodeID]bool, len(r.NodeList))
	for _, id := range r.NodeList {
		if seen[id] {
			return bad("node %s is listed twice", id)
		}
		seen[id] = true
	}
	for _, id := range r.Exclude {
		if seen[id] {
			return bad("node %s is both listed and excluded", id)
		}
	}
	return nil
}

// checkSize checks that r fits into the empty cluster, including drained nodes, since these come
// back. The error names the resource that is short.
func (m *Machine) checkSize(r *Request) error {
	q := m.demandOf(r)
	if _, ok := m.finder.find(m.whole, &q, anyGrowth); ok {
		return nil
	}
	if r.Oversubscribe {
		q.shared = true
		if _, ok := m.finder.find(m.whole, &q, anyGrowth); ok {
			return nil
		}
	}
	nodes := slices.DeleteFunc(slices.Clone(m.nodes), func(n *node) bool { return q.excludes(n.pos) })
	if len(nodes) == 0 {
		return fmt.Errorf("%w: the job excludes all %d of the cluster; leave one out of --exclude", ErrNoNodes, len(m.nodes))
	}
	err := m.shortage(r, nodes)
	if len(r.Exclude) > 0 {
		err = fmt.Errorf("%w; excluded and not counted: %s", err, List(r.Exclude))
	}
	return err
}

// shortage names the resource that the nodes lack for r.
func (m *Machine) shortage(r *Request, nodes []*node) error {
	if r.Nodes > len(nodes) {
		return fmt.Errorf("%w: the job asks for %d, the cluster has %d", ErrTooManyNodes, r.Nodes, len(nodes))
	}
	if err := checkCPUs(r, nodes); err != nil {
		return err
	}
	if err := m.checkMemory(r, nodes); err != nil {
		return err
	}
	if err := m.checkChannels(r, nodes); err != nil {
		return err
	}
	return checkTasks(r, nodes)
}

func checkCPUs(r *Request, nodes []*node) error {
	largest := slices.MaxFunc(nodes, func(a, b *node) int { return cmp.Compare(a.CPUs, b.CPUs) }).CPUs
	if r.CPUsPerTask <= largest || r.Oversubscribe {
		return nil
	}
	return fmt.Errorf("%w: a task asks for %s; the largest node has %d%s",
		ErrTooManyCPUs, plural(r.CPUsPerTask, "CPU"), largest, sharingHint(r))
}

func (m *Machine) checkMemory(r *Request, nodes []*node) error {
	largest, enough := int64(0), 0
	for _, n := range nodes {
		largest = max(largest, n.Memory)
		if n.Memory >= r.MemPerNode {
			enough++
		}
	}
	for _, id := range r.NodeList {
		if n := m.byNode[id]; n.Memory < r.MemPerNode {
			return fmt.Errorf("%w: the job asks for %s on each node; %s has %s; ask for less with --mem",
				ErrTooMuchMemory, FormatMemoryAsked(r.MemPerNode), id, FormatMemory(n.Memory))
		}
	}
	switch {
	case enough == 0:
		return fmt.Errorf("%w: the job asks for %s on each node; the most on a node is %s; ask for less with --mem",
			ErrTooMuchMemory, FormatMemoryAsked(r.MemPerNode), FormatMemory(largest))
	case enough < r.Nodes:
		return fmt.Errorf("%w: the job asks for %s on each of %d nodes; %s as much; ask for less with --mem",
			ErrTooMuchMemory, FormatMemoryAsked(r.MemPerNode), r.Nodes, pluralHave(enough))
	}
	return nil
}

// checkTasks refuses a request with more tasks than the eligible nodes can take. The caller has
// checked nodes, CPUs and memory separately.
func checkTasks(r *Request, nodes []*node) error {
	room, where := roomFor(r, nodes)
	sentinel, each := ErrTooFewCPUs, "a CPU each"
	switch {
	case r.Oversubscribe:
		sentinel, each = ErrTooManyRanks, fmt.Sprintf("at most %d on a node", MaxRanksPerNode)
	case r.CPUsPerTask > 1:
		each = fmt.Sprintf("%d CPUs each", r.CPUsPerTask)
	}
	asks := fmt.Sprintf("the job asks for %s, %s", plural(r.Tasks, "task"), each)
	if small := withLess(nodes, r.MemPerNode); small > 0 {
		asks += fmt.Sprintf(", and %s of memory on each node, which %d of %s do not have",
			FormatMemoryAsked(r.MemPerNode), small, plural(len(nodes), "node"))
	}
	if room >= r.Tasks { // only the listed nodes or the number of nodes stand in the way
		return fmt.Errorf("%w: %s, and they do not fit on the nodes asked for%s", sentinel, asks, sharingHint(r))
	}
	return fmt.Errorf("%w: %s; %s room for %d%s", sentinel, asks, where, room, sharingHint(r))
}

// roomFor returns how many tasks those of the nodes with enough memory can take, and a description
// of these nodes for an error.
func roomFor(r *Request, nodes []*node) (room int, where string) {
	caps := make([]int, 0, len(nodes))
	for _, n := range nodes {
		switch {
		case n.Memory < r.MemPerNode:
		case r.Oversubscribe:
			caps = append(caps, MaxRanksPerNode)
		default:
			caps = append(caps, n.CPUs/r.CPUsPerTask)
		}
	}
	slices.SortFunc(caps, func(a, b int) int { return b - a })
	where = "the cluster has"
	if r.Nodes > 0 && r.Nodes < len(caps) {
		caps, where = caps[:r.Nodes], fmt.Sprintf("the %d largest nodes have", r.Nodes)
		if r.Nodes == 1 {
			where = "the largest node has"
		}
	}
	for _, c := range caps {
		room += c
	}
	return room, where
}

// withLess returns the number of nodes with less memory.
func withLess(nodes []*node, memory int64) int {
	less := 0
	for _, n := range nodes {
		if n.Memory < memory {
			less++
		}
	}
	return less
}

// sharingHint names the option with which a job needs fewer CPUs.
func sharingHint(r *Request) string {
	switch {
	case r.Oversubscribe:
		return ""
	case r.Exclusive:
		return "; without --exclusive, -s lets its ranks share CPUs"
	}
	return "; -s (--oversubscribe) lets its ranks share CPUs"
}

// checkJoin refuses a joiner that does not fit now. A joiner must not wait: its gang may wait for
// it.
func (m *Machine) checkJoin(j *job) error {
	with := m.jobs[j.req.With]
	if with == nil || with.gang == nil || with.lost {
		return fmt.Errorf("%w: job %d, which job %d is to join", ErrNotRunning, j.req.With, j.req.ID)
	}
	if j.req.Exclusive && !with.gang.exclusive {
		return fmt.Errorf("%w: an exclusive job cannot join one that is not", ErrBadRequest)
	}
	if _, ok := m.joinFit(j, with.gang); ok {
		return nil
	}
	for _, id := range j.req.NodeList {
		if with.gang.cpusOn(m.byNode[id].pos) == nil {
			return fmt.Errorf("%w: job %d does not run on %s", ErrUnknownNode, j.req.With, id)
		}
	}
	if err := m.checkJoinChannels(j, with.gang); err != nil {
		return err
	}
	nodes := len(with.gang.nodeShares)
	switch {
	case j.req.Nodes > nodes:
		return fmt.Errorf("%w: the job asks for %d, the gang it joins has %d", ErrTooManyNodes, j.req.Nodes, nodes)
	case j.req.Tasks > nodes*MaxRanksPerNode:
		return fmt.Errorf("%w: the job asks for %d; the most on the nodes of the gang it joins is %d",
			ErrTooManyRanks, j.req.Tasks, nodes*MaxRanksPerNode)
	}
	largest := int64(0)
	for i := range with.gang.nodeShares {
		largest = max(largest, m.grid.mem[with.gang.nodeShares[i].node.pos])
	}
	return fmt.Errorf(
		"%w: the job asks for %s on each node; the most free on the nodes of the gang it joins is %s; ask for less with --mem of the program that spawns",
		ErrTooMuchMemory,
		FormatMemoryAsked(j.req.MemPerNode),
		FormatMemory(largest),
	)
}

// maxListed bounds what a sentence lists: a job may exclude thousands of nodes.
const maxListed = 8

// List writes the first of a list for a sentence, and how many more there are.
func List[T any](all []T) string {
	words := make([]string, min(len(all), maxListed))
	for i := range words {
		words[i] = fmt.Sprint(all[i])
	}
	text := strings.Join(words, ", ")
	if more := len(all) - maxListed; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return strconv.Itoa(n) + " " + what + "s"
}

func pluralHave(nodes int) string {
	if nodes == 1 {
		return "only 1 node has"
	}
	return fmt.Sprintf("only %d nodes have", nodes)
}
