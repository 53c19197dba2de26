package steward

import (
	"net/netip"
	"score/nodeagent/pmi"
	"strconv"
	"strings"
)

// pmiTarget is the number of the PMI connection in the ranks.
const pmiTarget = 3

// Variables that tell a rank where it gets its channels (package pm): the agent's socket, or a
// descriptor from another launcher.
const (
	pmSocket     = "SCORE_PM_SOCKET"
	pmDescriptor = "SCORE_PM_FD"
)

// nodeAddress is the variable with the address at which other hosts reach the node.
const nodeAddress = "SCORE_NODE_ADDRESS"

// isOwnVariable reports whether score sets a variable for every rank or job: a job started from
// within a job must not see the outer job's value.
func isOwnVariable(name string) bool {
	switch name {
	case "SCORE_JOB_ID", "SCORE_RANK", "SCORE_SIZE", "SCORE_NODE", "SCORE_NODE_INDEX",
		"SCORE_NODES", "SCORE_RESTART_COUNT", "SCORE_INCARNATION", "SCORE_LOCAL_RANK", "SCORE_LOCAL_SIZE",
		"SCORE_CPU_RANKS", nodeAddress, pmSocket, pmDescriptor:
		return true
	}
	return false
}

// commonEnv returns the user's environment without the variables that another launcher set for its
// own ranks, and with those that all ranks of this node share.
func (j *job) commonEnv() []string {
	given := j.spec.GetEnv()
	env := make([]string, 0, len(given)+10)
	for _, v := range given {
		if keepsVariable(v) {
			env = append(env, v)
		}
	}
	env = j.withHardware(withoutHardware(env))
	if path := j.order.GetPmSocket(); path != "" {
		env = append(env, pmSocket+"="+path)
	}
	if host, ok := j.host(); ok {
		env = append(env, nodeAddress+"="+host.String())
	}
	return append(env,
		"SCORE_JOB_ID="+strconv.FormatUint(j.id, 10),
		"SCORE_SIZE="+strconv.Itoa(j.size()),
		"SCORE_NODE="+j.node,
		"SCORE_NODE_INDEX="+strconv.Itoa(int(j.order.GetJob().GetNodeIndex())),
		"SCORE_NODES="+strconv.Itoa(j.nodes),
		"SCORE_RESTART_COUNT="+strconv.FormatUint(uint64(j.order.GetJob().GetRestarts()), 10),
		"SCORE_LOCAL_SIZE="+strconv.Itoa(len(j.ranks)),
		"SCORE_CPU_RANKS="+strconv.Itoa(j.machineSharers()),
	)
}

// host returns the address at which agents reach this node.
func (j *job) host() (netip.Addr, bool) {
	places, own := j.order.GetJob().GetPlaces(), int(j.order.GetJob().GetNodeIndex())
	if own >= len(places) {
		return netip.Addr{}, false
	}
	at, err := netip.ParseAddrPort(places[own].GetAddress())
	return at.Addr(), err == nil
}

// keepsVariable reports whether ranks keep a variable (NAME=VALUE) of the user's environment.
func keepsVariable(v string) bool {
	name, _, ok := strings.Cut(v, "=")
	return ok && name != "" && !isOwnVariable(name) && !pmi.Inherited(name) && strings.IndexByte(v, 0) < 0
}

// rankEnv returns the whole environment of local rank k.
func (j *job) rankEnv(k int) []string {
	const own = 24 // variables that each rank has for itself
	env := make([]string, len(j.env), len(j.env)+own)
	copy(env, j.env)
	rank := int(j.ranks[k].rank)
	env = append(env,
		"SCORE_RANK="+strconv.Itoa(rank),
		"SCORE_LOCAL_RANK="+strconv.Itoa(k),
		"SCORE_INCARNATION="+strconv.Itoa(j.ranks[k].incarnation))
	if j.pmi != nil {
		env = j.pmi.Engine().Environ(env, rank, pmiTarget)
	}
	if j.pmix != nil {
		env = j.pmix.environ(env, j, rank)
	}
	return env
}
