package leader

import (
	"context"
	"fmt"
	"score/scored/api/agentpb"
	"score/scored/api/protocol"
	"score/scored/api/scorev1"
	"score/scored/state"
	"score/scored/state/statepb"
)

// Protocol returns the protocol of the committed log, see package protocol.
func (l *Leader) Protocol() (version uint32) {
	l.options.Replica.Read(func(s *state.State) { version = s.Protocol() })
	return version
}

// Raise switches the log to a later protocol. All servers must understand it.
func (l *Leader) Raise(ctx context.Context, version uint32) error {
	return l.decideOnly(ctx, func(c *controller) error {
		c.raiseProtocol(version)
		return nil
	})
}

func (c *controller) raiseProtocol(version uint32) {
	if version <= c.protocol {
		return
	}
	c.protocol = version
	c.propose(&statepb.Command{Command: &statepb.Command_Raise{Raise: &statepb.Raise{Protocol: version}}})
	c.log(fmt.Sprintf("all servers understand protocol %d, in which the log is written from here on", version))
}

// MayBeServer returns why a server cannot follow the log, a sentence, or "".
func (l *Leader) MayBeServer(name string, program *scorev1.ProgramVersion) string {
	theirs := protocol.Of(program.GetProtocolOldest(), program.GetProtocolNewest())
	written := l.Protocol()
	switch {
	case written > theirs.Newest:
		return fmt.Sprintf(
			"server %s is too old: its version %s understands %s, and the cluster's log is written in protocol %d; upgrade it",
			name,
			clip(program.GetBuild()),
			theirs,
			written,
		)
	case written < theirs.Oldest:
		return fmt.Sprintf(
			"server %s is too new: its version %s understands %s, and the cluster's log is written in protocol %d; upgrade the other servers first, all of them",
			name,
			clip(program.GetBuild()),
			theirs,
			written,
		)
	}
	return ""
}

// mismatch returns why an agent's version is not compatible, or "".
func (c *controller) mismatch(h *agentpb.Hello) string {
	own, theirs := protocol.Own(), agentRange(h)
	if _, ok := own.Meet(theirs); ok {
		return ""
	}
	return protocol.Mismatch(
		protocol.Party{Name: "the agent", Build: clip(h.GetVersion()), Range: theirs},
		protocol.Party{Name: "the server", Build: c.version, Range: own},
	)
}

func agentRange(h *agentpb.Hello) protocol.Range {
	return protocol.Of(h.GetProtocolOldest(), h.GetProtocolNewest())
}
