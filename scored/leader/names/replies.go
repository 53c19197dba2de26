package names

import (
	"score/scored/api/agentpb"
	"score/scored/state"
	"slices"
)

// maxKept bounds the answers that are kept for one job's repeated requests, as the state does: an
// agent that lost them is back within leader.NodeGrace, and few of a job's ranks use names at the
// same time.
const (
	maxKept      = state.MaxAnswersPerJob
	maxKeptBytes = state.MaxAnswerBytes
)

// replies keeps the last answers to requests that can be granted only once. If an answer is lost
// with an agent, a repeated lookup of a name that is read once would wait forever, since the name
// is gone. The state has the answers too, since a leader may die with one.
type replies struct {
	byRequest map[state.NameRequest]*agentpb.NameReply
	order     []state.NameRequest // oldest first
	bytes     int                 // of the ports in them
}

func (r *replies) add(by state.NameRequest, reply *agentpb.NameReply) {
	if r.byRequest == nil {
		r.byRequest = make(map[state.NameRequest]*agentpb.NameReply)
	}
	r.byRequest[by] = reply
	r.order = append(r.order, by)
	r.bytes += len(reply.GetPort())
	for len(r.order) > maxKept || r.bytes > maxKeptBytes {
		oldest := r.order[0]
		r.bytes -= len(r.byRequest[oldest].GetPort())
		delete(r.byRequest, oldest)
		r.order = slices.Delete(r.order, 0, 1)
	}
}

// kept returns the answer that a request got before, or nil.
func (j *job) kept(by state.NameRequest) *agentpb.NameReply {
	if j == nil {
		return nil
	}
	return j.replies.byRequest[by]
}

// keep keeps an answer for a job that may ask again.
func (j *job) keep(node string, reply *agentpb.NameReply) {
	if j == nil {
		return
	}
	before := j.replies.bytes
	j.replies.add(state.NameRequest{Job: j.id, Node: node, Number: reply.GetRequest()}, reply)
	j.count(j.replies.bytes - before)
}
