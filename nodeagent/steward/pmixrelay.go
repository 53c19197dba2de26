package steward

import (
	"fmt"
	"strconv"
	"strings"

	"score/nodeagent/pmi"
	"score/nodeagent/steward/stewardpb"
	"score/scored/api/jobmap"
	"score/scored/api/scorev1"
)

// jobNumber is the inverse of kvsName.
func jobNumber(name string) (job uint64, ok bool) {
	digits, found := strings.CutPrefix(name, kvsPrefix)
	if !found {
		return 0, false
	}
	job, err := strconv.ParseUint(digits, 10, 64)
	return job, err == nil && job != 0 && kvsName(job) == name
}

// sendRelay sends a message to the steward of another node or job.
func (s *steward) sendRelay(e *pmi.Event) {
	relay := &stewardpb.Relay{JobId: e.Job, NodeIndex: uint32(e.Node), Data: e.Data}
	relay.Address = s.job.addressOf(e.Job, e.Node)
	s.send(&stewardpb.FromSteward{Message: &stewardpb.FromSteward_Relay{Relay: relay}})
}

// addressOf is the address of the agent of a node of a job; "" if it is not
// known, which the agent finds out to be nowhere.
func (j *job) addressOf(job uint64, node int) string {
	addresses := j.pmix.addresses[job]
	if job == j.id {
		return j.order.GetJob().GetPlaces()[node].GetAddress()
	}
	if node >= len(addresses) {
		return ""
	}
	return addresses[node]
}

// relayed takes a message of the steward of another node or job.
func (s *steward) relayed(m *stewardpb.Relay) {
	if s.endpoint() == nil {
		return
	}
	s.keeps(len(m.GetData()))
	s.doPMIx(func(e *pmi.Engine) error {
		return e.Relayed(s.now(), m.GetJobId(), int(m.GetNodeIndex()), m.GetData())
	})
}

// relayFailed takes back a message that reached nobody.
func (s *steward) relayFailed(m *stewardpb.Relay) {
	if s.endpoint() == nil {
		return
	}
	s.doPMIx(func(e *pmi.Engine) error {
		e.RelayFailed(m.GetJobId(), int(m.GetNodeIndex()), m.GetData())
		return nil
	})
}

// answerPlaces takes where the ranks of another job are.
func (s *steward) answerPlaces(m *scorev1.PlacesReply) {
	if !s.answered(request{kind: requestPlaces, number: m.GetRequest()}) || s.endpoint() == nil {
		return
	}
	if m.GetMap() != nil {
		all, err := jobmap.Decode(m.GetMap())
		if err != nil {
			s.note(fmt.Sprintf("node %s: job %d cannot be reached: %v", s.job.node, m.GetOfJob(), err))
		}
		m.Places = all
	}
	places := pmi.Places{Job: m.GetOfJob()}
	var addresses []string
	size := 0
	for _, place := range m.GetPlaces() {
		size += len(place.GetRanks())
	}
	rankNode := make([]int32, size)
	seen := make([]bool, size)
	for index, place := range m.GetPlaces() {
		places.NodeNames = append(places.NodeNames, place.GetNode())
		addresses = append(addresses, place.GetAddress())
		for _, rank := range place.GetRanks() {
			if int(rank) < size && !seen[rank] {
				rankNode[rank], seen[rank] = int32(index), true
			}
		}
	}
	places.RankNode = rankNode
	s.job.pmix.addresses[m.GetOfJob()] = addresses
	s.doPMIx(func(e *pmi.Engine) error {
		e.PlacesResult(places)
		return nil
	})
}
