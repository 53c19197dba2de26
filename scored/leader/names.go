package leader

import (
	"score/scored/api/agentpb"
	"score/scored/api/protocol"
	"score/scored/api/texts"
	"score/scored/leader/names"
	"score/scored/state"
	"score/scored/state/statepb"
)

// onNameRequest handles a rank's request about a name, see package names.
func (c *controller) onNameRequest(n *node, m *agentpb.NameRequest) {
	j, p := c.partOf(n, m.GetJobId())
	if p == nil {
		return
	}
	if err := c.mayPublish(m); err != nil {
		c.send(n.link, nameMessage(&agentpb.NameReply{JobId: m.GetJobId(), Request: m.GetRequest(), Error: err.Error()}))
		return
	}
	outcome := c.names.Handle(names.Asker{Node: n.name, UID: j.user.GetUid(), Placed: j.active()}, m)
	for _, change := range outcome.Changes {
		c.proposeName(change)
	}
	for _, answer := range outcome.Answers {
		c.send(c.nodes[answer.Node].link, nameMessage(answer.Reply))
	}
}

// mayPublish refuses a name that the log's protocol does not have.
func (c *controller) mayPublish(m *agentpb.NameRequest) error {
	if m.GetOp() != agentpb.NameOp_NAME_OP_PUBLISH || texts.Valid(m.GetService(), m.GetPort()) {
		return nil
	}
	return c.requireProtocol(protocol.Texts)
}

func (c *controller) proposeName(change names.Change) {
	if change.Gone {
		c.propose(&statepb.Command{Command: &statepb.Command_UnpublishName{UnpublishName: &statepb.UnpublishName{
			JobId: change.Job, Service: change.Service, By: c.requestBy(change.By),
		}}})
		return
	}
	c.propose(&statepb.Command{Command: &statepb.Command_PublishName{PublishName: &statepb.PublishName{
		JobId: change.Job, Service: change.Service, Port: change.Port, Once: change.Once, By: c.requestBy(change.By),
	}}})
}

// requestBy returns the request for the log, or nil if there is none, or the log's protocol does
// not have it.
func (c *controller) requestBy(by state.NameRequest) *statepb.NameRequest {
	if c.protocol < protocol.Answers || by == (state.NameRequest{}) {
		return nil
	}
	return &statepb.NameRequest{JobId: by.Job, Node: by.Node, Request: by.Number}
}

// restoreNames restores the names, and answers that may have been lost with an earlier leader.
func (c *controller) restoreNames(s *state.State) {
	for _, record := range s.Names() {
		c.names.Restore(record)
	}
	for _, j := range c.jobs {
		if j.active() {
			c.names.RestoreAnswers(j.id, j.user.GetUid(), s.Job(j.id).Answers)
		}
	}
}

func nameMessage(reply *agentpb.NameReply) *agentpb.ServerMessage {
	return &agentpb.ServerMessage{Message: &agentpb.ServerMessage_Name{Name: reply}}
}
