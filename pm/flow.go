package pm

import (
	"score/channels/abi"
	"strconv"
)

// Flow is the flow control of a channel between nodes. All ranks of a job use the same one for the
// same channel.
type Flow uint8

// The flow controls.
const (
	// FlowNack: a sender sends, and a receiver without room refuses. For messages of all lengths.
	FlowNack Flow = Flow(abi.FlowNack)
	// FlowCredits: a sender sends only what its receiver has a place for, and pairs that talk
	// often get more places. For short messages (Channel.MaxMessage) of many senders: none is
	// refused for want of room.
	FlowCredits Flow = Flow(abi.FlowCredits)
)

// String names the flow control in sentences.
func (f Flow) String() string {
	if f == FlowCredits {
		return "credits"
	}
	return "ACK/NACK"
}

// other returns the flow control that is not f.
func (f Flow) other() Flow {
	if f == FlowCredits {
		return FlowNack
	}
	return FlowCredits
}

// OpenOption changes how a channel is opened.
type OpenOption func(*openOptions)

type openOptions struct {
	flow Flow
}

// WithFlow opens a channel with a flow control of its own, in place of that of Settings.
func WithFlow(flow Flow) OpenOption { return func(o *openOptions) { o.flow = flow } }

// flowNames are the values of PM_FLOW.
var flowNames = map[string]Flow{"nack": FlowNack, "credits": FlowCredits}

func parseFlow(text string) (Flow, error) {
	flow, ok := flowNames[text]
	if !ok {
		return flow, strconv.ErrSyntax
	}
	return flow, nil
}
