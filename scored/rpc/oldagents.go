package rpc

import (
	"context"
	"fmt"
	"score/scored/api/protocol"
	"score/scored/api/scorev1"
	"score/scored/api/texts"
)

// adapt has an agent of a version whose messages hold texts in UTF-8 alone be told nothing else: it
// could not read the message, would connect again and be told the same.
func (a agents) adapt(link *agentLink, hello *scorev1.Hello) {
	if protocol.Of(hello.GetProtocolOldest(), hello.GetProtocolNewest()).Newest >= protocol.Texts {
		return
	}
	link.refused = func(ctx context.Context, answer *scorev1.Prepared) {
		answer.Error = fmt.Sprintf(
			"the agent of node %s is of version %s, which takes texts in UTF-8 only, and an argument, variable or path of the job is not: upgrade the agent",
			hello.GetNode(),
			clip(hello.GetVersion()),
		)
		message := &scorev1.AgentMessage{Message: &scorev1.AgentMessage_Prepared{Prepared: answer}}
		_ = a.Leader.Receive(ctx, hello.GetNode(), link, message) // it fails when the leader ends, and the stream with it
	}
}

// understood returns the message as the agent can read it; nil: it cannot be given the order, which
// the leader is told. Sentences have escapes; a program must not be given others than its own
// texts.
func (l *agentLink) understood(ctx context.Context, message *scorev1.ServerMessage) *scorev1.ServerMessage {
	if l.refused == nil || texts.ValidIn(message) {
		return message
	}
	if order := message.GetPrepare(); order != nil {
		l.refused(ctx, &scorev1.Prepared{JobId: order.GetJobId()})
		return nil
	}
	return texts.EscapeIn(message)
}
