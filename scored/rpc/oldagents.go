package rpc

import (
	"context"
	"fmt"
	"score/scored/api/agentpb"
	"score/scored/api/protocol"
	"score/scored/api/texts"
)

// adapt makes the link send only UTF-8 text to an agent whose version reads nothing else. Such an
// agent could not read other messages, would connect again and get the same.
func (a agents) adapt(link *agentLink, hello *agentpb.Hello) {
	if protocol.Of(hello.GetProtocolOldest(), hello.GetProtocolNewest()).Newest >= protocol.Texts {
		return
	}
	link.refused = func(ctx context.Context, answer *agentpb.Prepared) {
		answer.Error = fmt.Sprintf(
			"the agent of node %s is of version %s, which takes texts in UTF-8 only, and an argument, variable or path of the job is not: upgrade the agent",
			hello.GetNode(),
			clip(hello.GetVersion()),
		)
		message := &agentpb.AgentMessage{Message: &agentpb.AgentMessage_Prepared{Prepared: answer}}
		_ = a.Leader.Receive(ctx, hello.GetNode(), link, message) // it fails only if the leader ends, and then the stream ends too
	}
}

// understood returns the message in a form that the agent can read. Sentences are escaped. A
// program's texts must not be changed: for an order with other texts understood answers the leader
// and returns nil.
func (l *agentLink) understood(ctx context.Context, message *agentpb.ServerMessage) *agentpb.ServerMessage {
	if l.refused == nil || texts.ValidIn(message) {
		return message
	}
	if order := message.GetPrepare(); order != nil {
		l.refused(ctx, &agentpb.Prepared{JobId: order.GetJobId()})
		return nil
	}
	return texts.EscapeIn(message)
}
