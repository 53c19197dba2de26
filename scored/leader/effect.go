package leader

import (
	"score/scored/api/agentpb"
	"score/scored/state/statepb"
	"slices"

	"go.uber.org/zap"
	"google.golang.org/protobuf/proto"
)

// Link is the connection to one agent. Its methods do not block.
type Link interface {
	// Send queues a message. A link whose queue is full closes itself; the agent connects again and
	// gets the current state.
	Send(*agentpb.ServerMessage)
	// Close ends the link. A reason that is not empty is a refusal: the agent must not try again.
	Close(reason string)
}

// effect is one action outside the controller. Exactly one of its parts is set.
type effect struct {
	// after is the number of commands that must be committed first.
	after uint64

	link    Link
	message *agentpb.ServerMessage // to link
	close   bool                   // link
	reason  string                 // of close

	watcher *Attachment
	event   Event // to watcher

	// call gets nil, or the error of committing the commands before it.
	call func(error)

	line   string // for the log
	fields []zap.Field
}

// outbox collects the decisions of the controller that are not yet carried out.
type outbox struct {
	commands []*statepb.Command // not yet given to the log
	effects  []effect           // not yet done, in the order of decision
	decided  uint64             // commands so far, since the controller started
	urgent   uint64             // number of the last command that effects wait for
	// lazySince is when the oldest command that no effect waits for was decided; 0: there is none.
	lazySince int64
}

// propose decides a command; later effects wait for its commit.
func (o *outbox) propose(command *statepb.Command) {
	o.commands = append(o.commands, command)
	o.decided++
	o.urgent = o.decided
}

// proposeLazily decides a command that may be committed with later ones, since no effect waits for
// it.
func (o *outbox) proposeLazily(command *statepb.Command, now int64) {
	o.commands = append(o.commands, command)
	o.decided++
	if o.lazySince == 0 {
		o.lazySince = now
	}
}

func (o *outbox) emit(e effect) {
	e.after = o.urgent
	o.effects = append(o.effects, e)
}

func (o *outbox) send(link Link, message *agentpb.ServerMessage) {
	if link != nil {
		o.emit(effect{link: link, message: message})
	}
}

// maxOvertaken bounds the effects that sendAhead overtakes, so that the time for placing many jobs
// at once grows in proportion to their number.
const maxOvertaken = 64

// sendAhead sends a message after the first commands, as many as after says, are committed. The
// message overtakes effects that wait for more commands, but none to the same agent.
func (o *outbox) sendAhead(link Link, message *agentpb.ServerMessage, after uint64) {
	at := len(o.effects)
	for ; at > 0 && o.effects[at-1].after > after; at-- {
		if o.effects[at-1].link == link || len(o.effects)-at == maxOvertaken {
			o.send(link, message)
			return
		}
	}
	o.effects = slices.Insert(o.effects, at, effect{after: after, link: link, message: message})
}

func (o *outbox) closeLink(link Link, reason string) {
	if link != nil {
		o.emit(effect{link: link, close: true, reason: reason})
	}
}

func (o *outbox) notify(watcher *Attachment, event Event) {
	o.emit(effect{watcher: watcher, event: event})
}

func (o *outbox) call(f func(error)) { o.emit(effect{call: f}) }

func (o *outbox) log(line string, fields ...zap.Field) {
	o.emit(effect{line: line, fields: fields})
}

// takeCommands removes and returns the oldest decided commands for one log entry, and the number of
// the last one. It returns at most limit commands, and at most maxEntryBytes unless the first is
// larger.
func (o *outbox) takeCommands(limit int) (commands []*statepb.Command, taken uint64) {
	n, bytes := 0, 0
	for n < min(len(o.commands), limit) {
		if bytes += proto.Size(o.commands[n]); n > 0 && bytes > maxEntryBytes {
			break
		}
		n++
	}
	commands = o.commands[:n:n]
	o.commands = o.commands[n:]
	if len(o.commands) == 0 {
		o.commands, o.lazySince = nil, 0
	}
	return commands, o.decided - uint64(len(o.commands))
}

// waited reports whether an effect waits for a decided command that is not in the log yet.
func (o *outbox) waited() bool {
	return len(o.commands) > 0 && o.urgent > o.decided-uint64(len(o.commands))
}

// due returns the effects that wait only for committed commands.
func (o *outbox) due(committed uint64) []effect {
	n := 0
	for n < len(o.effects) && o.effects[n].after <= committed {
		n++
	}
	ready := o.effects[:n:n]
	o.effects = o.effects[n:]
	if len(o.effects) == 0 {
		o.effects = nil // the array is freed with ready
	}
	return ready
}
