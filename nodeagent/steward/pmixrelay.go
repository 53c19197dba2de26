package steward

import (
	"fmt"
	"score/nodeagent/pmi"
	"score/scored/api/agentpb"
	"score/scored/api/jobmap"
	"strconv"
	"strings"
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

// addressOf returns the address of the agent of a node of a job. For "", not known, the agent
// reports the node as unreachable.
func (j *job) addressOf(job uint64, node int) string {
	if job == j.id {
		return j.order.GetJob().GetPlaces()[node].GetAddress()
	}
	addresses := j.pmix.addresses[job]
	if node >= len(addresses) {
		return ""
	}
	return addresses[node]
}

// answerPlaces handles the answer with the places of another job's ranks.
func (s *steward) answerPlaces(m *agentpb.PlacesReply) {
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
	s.withPMIx(func(e *pmi.Engine) error {
		e.PlacesResult(places)
		return nil
	})
}
