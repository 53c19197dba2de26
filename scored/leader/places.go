package leader

import (
	"slices"

	"score/scored/api/jobmap"
	"score/scored/api/scorev1"
)

// placeAsk is a question about a job that has no places yet.
type placeAsk struct {
	of      uint64
	node    string
	job     uint64
	request uint64
}

// maxPlaceAsks bounds the questions that wait.
const maxPlaceAsks = 1 << 12

// askPlaces tells a job's rank where the ranks of another job of its user are, now
// or once that has its places. Other users' jobs are as jobs that do not exist.
func (b *controller) askPlaces(n *node, m *scorev1.PlacesRequest) {
	j, p := b.partOf(n, m.GetJobId())
	if p == nil {
		return
	}
	ask := placeAsk{of: m.GetOfJob(), node: n.name, job: j.id, request: m.GetRequest()}
	of := b.jobs[ask.of]
	if of == nil || of.user.GetUid() != j.user.GetUid() {
		b.answerPlaces(ask, nil)
		return
	}
	if of.state != queued || len(b.placeAsks) == maxPlaceAsks {
		b.answerPlaces(ask, of)
		return
	}
	if !slices.Contains(b.placeAsks, ask) {
		b.placeAsks = append(b.placeAsks, ask)
	}
}

// tellPlaces answers who waits for the places of a job, which has got them or
// never will.
func (b *controller) tellPlaces(of *job) {
	b.placeAsks = slices.DeleteFunc(b.placeAsks, func(ask placeAsk) bool {
		if ask.of == of.id {
			b.answerPlaces(ask, of)
		}
		return ask.of == of.id || ask.job == of.id
	})
}

// answerPlaces answers one question; a job that does not run has no places.
func (b *controller) answerPlaces(ask placeAsk, of *job) {
	n := b.nodes[ask.node]
	if n == nil || n.link == nil {
		return // asked again on the next stream
	}
	reply := &scorev1.PlacesReply{JobId: ask.job, Request: ask.request, OfJob: ask.of}
	if of != nil && of.active() {
		reply.Map = jobmap.Append(nil, b.nodePlaces(of))
	}
	b.send(n.link, &scorev1.ServerMessage{Message: &scorev1.ServerMessage_Places{Places: reply}})
}
