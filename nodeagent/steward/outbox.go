package steward

import (
	"score/nodeagent/steward/stewardpb"
	"score/scored/api/agentpb"
	"slices"
)

// outbox holds messages that a new agent must get again, because the old one may have died before
// it forwarded them. All of them may arrive twice.
type outbox struct {
	prepared *agentpb.Prepared
	launched *agentpb.Launched
	abort    *agentpb.Abort
	done     *agentpb.NodeDone
	notes    []*stewardpb.FromSteward // only those that no agent has got
	requests []request                // unanswered
	asks     asks
}

// request is a question that only the agent, or somebody behind it, can answer.
type request struct {
	kind    requestKind
	number  uint64
	message *stewardpb.FromSteward
}

type requestKind uint8

const (
	requestCollective requestKind = iota
	requestName
	requestSpawn
	requestPlaces
)

// replay sends a new agent what Status does not hold.
func (s *steward) replay() {
	m := &s.outbox
	if m.prepared != nil {
		s.send(preparedMessage(m.prepared))
	}
	if m.launched != nil {
		s.send(&stewardpb.FromSteward{Message: &stewardpb.FromSteward_Launched{Launched: m.launched}})
	}
	s.replayExits()
	if m.abort != nil {
		s.send(&stewardpb.FromSteward{Message: &stewardpb.FromSteward_Abort{Abort: m.abort}})
	}
	for _, r := range m.requests {
		s.send(r.message)
	}
	s.replayMessages()
	for _, note := range m.notes {
		s.send(note)
	}
	if s.control != nil {
		m.notes = nil
	}
	if m.done != nil {
		s.send(&stewardpb.FromSteward{Message: &stewardpb.FromSteward_NodeDone{NodeDone: m.done}})
	}
}

// replayExits sends the exits of ranks again, in the order of the ranks: their instants say which
// was first.
func (s *steward) replayExits() {
	if s.job == nil {
		return
	}
	for k := range s.job.ranks {
		if r := &s.job.ranks[k]; r.exited != nil {
			s.send(&stewardpb.FromSteward{Message: &stewardpb.FromSteward_RankExited{RankExited: r.exited}})
		}
	}
}

func preparedMessage(p *agentpb.Prepared) *stewardpb.FromSteward {
	return &stewardpb.FromSteward{Message: &stewardpb.FromSteward_Prepared{Prepared: p}}
}

// ask sends a request and keeps it until it is answered. It replaces one of the same number.
func (s *steward) ask(r request, message *stewardpb.FromSteward) {
	r.message = message
	if i := s.outbox.index(r); i >= 0 {
		s.outbox.requests[i] = r
	} else {
		s.outbox.requests = append(s.outbox.requests, r)
	}
	s.send(message)
}

// index returns where the request of a kind and number is kept; -1: it is not.
func (m *outbox) index(r request) int {
	return slices.IndexFunc(m.requests, func(open request) bool { return open.kind == r.kind && open.number == r.number })
}

// answered removes a request from the list and reports whether it was there: an answer may come
// twice.
func (s *steward) answered(r request) bool {
	i := s.outbox.index(r)
	if i < 0 || s.job == nil || s.job.pmi == nil && s.job.pmix == nil {
		return false
	}
	s.outbox.requests = slices.Delete(s.outbox.requests, i, i+1)
	return true
}

// maxNotes bounds the sentences about a job, which its ranks may cause as often as they like
// (PMIx_Log). The leader keeps no more of a job.
const maxNotes = 16

// note sends the user a sentence.
func (s *steward) note(text string) { s.sendNote(&agentpb.JobNote{Text: text}) }

// noteLoss is like note, for output that is lost, at most once for each file; the report of the
// job's end mentions the loss, too.
func (s *steward) noteLoss(text string) { s.sendNote(&agentpb.JobNote{Text: text, OutputLost: true}) }

func (s *steward) sendNote(note *agentpb.JobNote) {
	if s.job == nil {
		return
	}
	if !note.GetOutputLost() {
		if s.job.notes == maxNotes {
			return
		}
		s.job.notes++
	}
	note.JobId = s.job.id
	m := &stewardpb.FromSteward{Message: &stewardpb.FromSteward_Note{Note: note}}
	if s.control != nil {
		s.send(m)
		return
	}
	if len(s.outbox.notes) < maxNotes {
		s.outbox.notes = append(s.outbox.notes, m)
	}
}
