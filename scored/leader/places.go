package leader

import (
	"score/scored/api/jobmap"
	"score/scored/api/scorev1"
	"slices"
)

// placeAsk is a question about a job that has no places yet.
type placeAsk struct {
	of      uint64
	node    string
	job     uint64
	request uint64
}

// maxPlaceAsks bounds the pending questions.
const maxPlaceAsks = 1 << 12

// askPlaces answers a job's rank where the ranks of another job of its user are, now or once that
// job has its places. Jobs of other users count as nonexistent.
func (c *controller) askPlaces(n *node, m *scorev1.PlacesRequest) {
	j, p := c.partOf(n, m.GetJobId())
	if p == nil {
		return
	}
	ask := placeAsk{of: m.GetOfJob(), node: n.name, job: j.id, request: m.GetRequest()}
	of := c.jobs[ask.of]
	if of == nil || of.user.GetUid() != j.user.GetUid() {
		c.answerPlaces(ask, nil)
		return
	}
	if of.state != queued || len(c.placeAsks) == maxPlaceAsks {
		c.answerPlaces(ask, of)
		return
	}
	if !slices.Contains(c.placeAsks, ask) {
		c.placeAsks = append(c.placeAsks, ask)
	}
}

// sendPlaces answers the questions about a job that has got its places, or never will.
func (c *controller) sendPlaces(of *job) {
	c.placeAsks = slices.DeleteFunc(c.placeAsks, func(ask placeAsk) bool {
		if ask.of == of.id {
			c.answerPlaces(ask, of)
		}
		return ask.of == of.id || ask.job == of.id
	})
}

// answerPlaces answers one question; a job that does not run has no places.
func (c *controller) answerPlaces(ask placeAsk, of *job) {
	n := c.nodes[ask.node]
	if n == nil || n.link == nil {
		return // the rank's node asks again on its next stream
	}
	reply := &scorev1.PlacesReply{JobId: ask.job, Request: ask.request, OfJob: ask.of}
	if of != nil && of.active() {
		reply.Map = jobmap.Append(nil, c.nodePlaces(of))
	}
	c.send(n.link, &scorev1.ServerMessage{Message: &scorev1.ServerMessage_Places{Places: reply}})
}
