package leader

import (
	"score/scored/api/agentpb"
	"score/scored/api/jobmap"
	"slices"
)

// placeAsk is a question about a job that has no places yet.
type placeAsk struct {
	node    string
	job     uint64
	attempt uint32 // of the job that asks
	request uint64
}

// maxPlaceAsks bounds the pending questions about one job. It is for jobs that connect to another
// one, each with a few ranks that ask.
const maxPlaceAsks = 1 << 12

// askPlaces answers a job's rank where the ranks of another job of its user are, now or once that
// job has its places. Jobs of other users count as nonexistent.
func (c *controller) askPlaces(n *node, m *agentpb.PlacesRequest) {
	j, p := c.partOf(n, m.GetJobId())
	if p == nil {
		return
	}
	ask := placeAsk{node: n.name, job: j.id, attempt: j.attempts, request: m.GetRequest()}
	of := c.jobs[m.GetOfJob()]
	if of == nil || of.user.GetUid() != j.user.GetUid() {
		c.answerPlaces(ask, m.GetOfJob(), nil)
		return
	}
	if of.state != queued || len(of.placeAsks) >= maxPlaceAsks {
		c.answerPlaces(ask, of.id, of)
		return
	}
	if !slices.Contains(of.placeAsks, ask) {
		of.placeAsks = append(of.placeAsks, ask)
	}
}

// sendPlaces answers the questions about a job that has got its places, or never will.
func (c *controller) sendPlaces(of *job) {
	asks := of.placeAsks
	of.placeAsks = nil
	for _, ask := range asks {
		if j := c.jobs[ask.job]; j != nil && j.active() && j.attempts == ask.attempt {
			c.answerPlaces(ask, of.id, of)
		}
	}
}

// answerPlaces answers one question about a job; of is nil if there is none that the user may know.
// A job that does not run has no places.
func (c *controller) answerPlaces(ask placeAsk, id uint64, of *job) {
	n := c.nodes[ask.node]
	if !n.connected() {
		return // the rank's node asks again on its next stream
	}
	reply := &agentpb.PlacesReply{JobId: ask.job, Request: ask.request, OfJob: id}
	if of != nil && of.active() {
		reply.Map = jobmap.Append(nil, c.nodePlaces(of))
	}
	c.send(n.link, &agentpb.ServerMessage{Message: &agentpb.ServerMessage_Places{Places: reply}})
}
