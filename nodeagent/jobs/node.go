package jobs

import (
	"cmp"
	"errors"
	"fmt"
	"score/nodeagent/steward/direct"
	"score/scored/api"
	"score/scored/api/agentpb"
	"score/scored/api/scorev1"
)

// Node identifies the node.
type Node struct {
	Name       string
	Address    string   // where servers and other agents reach it
	BootID     string   // identifies this run of the agent
	CPUs       []uint32 // the kernel's numbers; orders name CPUs by their indices here
	SharesCPUs bool     // another node of this machine has the same CPUs
	Cluster    string
	ClusterKey string // for orders of a server of a former version, which bring no key
}

// check refuses an order that a correct leader does not give, or that the configurations of the
// job's nodes make impossible.
func (n *Node) check(order *agentpb.Prepare) error {
	places := order.GetPlaces()
	if int64(order.GetNodeIndex()) >= int64(len(places)) {
		return errors.New("the order names no place for this node")
	}
	place := places[order.GetNodeIndex()]
	switch {
	case order.GetJobId() == 0:
		return errors.New("the order names no job")
	case place.GetNode() != n.Name:
		return fmt.Errorf("the order is for node %s", place.GetNode())
	case len(order.GetSpec().GetArgv()) == 0:
		return errors.New("the order names no program")
	case len(place.GetRanks()) == 0:
		return errors.New("the order gives this node no rank")
	case len(place.GetRanks()) > api.MaxRanksPerNode:
		return fmt.Errorf("%d ranks on one node are more than %d; use more nodes", len(place.GetRanks()), api.MaxRanksPerNode)
	case order.GetLinksDiffer() != "" && order.GetSpec().GetChannelsPerTask() > 0:
		return errors.New(order.GetLinksDiffer())
	}
	for _, cpu := range place.GetCpus() {
		if int64(cpu) >= int64(len(n.CPUs)) {
			return fmt.Errorf("the order gives CPU %d, and the node has %d", cpu, len(n.CPUs))
		}
	}
	return nil
}

// noPart is the error for callers that ask for a job that is not here.
func (n *Node) noPart(job uint64) error {
	return fmt.Errorf("job %d has no part on node %s", job, n.Name)
}

// kernelCPUs returns the CPUs of a place on this node as the kernel numbers them.
func (n *Node) kernelCPUs(place *scorev1.NodePlace) []int {
	cpus := make([]int, len(place.GetCpus()))
	for i, cpu := range place.GetCpus() {
		cpus[i] = int(n.CPUs[cpu]) // check has compared
	}
	return cpus
}

// directKey returns the key of the datagrams between the job's stewards; nil: there are none.
func (n *Node) directKey(order *agentpb.Prepare) []byte {
	if len(order.GetPlaces()) < 2 || !order.GetFencesByMessage() {
		return nil
	}
	secret := cmp.Or(string(order.GetKey()), n.ClusterKey)
	if secret == "" {
		return nil // the messages go through the agents
	}
	return direct.JobKey(secret, n.Cluster, order.GetJobId(), order.GetAttempt())
}
