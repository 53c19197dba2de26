package state

import (
	"fmt"
	"score/scored/api/protocol"
	"score/scored/api/texts"
	"score/scored/state/statepb"
)

// Protocol returns the protocol in which the log is written, see package protocol. Every server in
// the cluster understands it.
func (s *State) Protocol() uint32 { return s.protocol }

// understood refuses a log that this program could not apply as others do.
func understood(version uint32) error {
	if own := protocol.Own(); version > own.Newest {
		return fmt.Errorf(
			"%w: the cluster's log is written in protocol %d, and this program understands up to %d; start the version again that ran here last, or a later one",
			ErrProtocol,
			version,
			own.Newest,
		)
	}
	return nil
}

// Needs returns the earliest protocol of a log that may contain the command. It binds writers only:
// Apply accepts such commands in a log of an earlier protocol too, since logs were written that way
// before protocols existed.
func Needs(command *statepb.Command) uint32 {
	switch c := command.GetCommand().(type) {
	case *statepb.Command_Raise:
		return max(c.Raise.GetProtocol(), protocol.First)
	case *statepb.Command_SetSettings:
		if c.SetSettings.GetSettings().GetHistory() != 0 {
			return protocol.History
		}
	case *statepb.Command_Submit:
		spec := c.Submit.GetSpec()
		switch {
		case c.Submit.GetInherits():
			return protocol.Inherits
		case !texts.ValidIn(c.Submit):
			return protocol.Texts
		case len(c.Submit.GetKey()) > 0:
			return protocol.Keys
		case spec.GetRecover() || spec.GetRespawn() > 0:
			return protocol.Survival
		case len(spec.GetExcludeList()) > 0:
			return protocol.Exclude
		case c.Submit.GetSpawnedBy() != nil:
			return protocol.Answers
		case c.Submit.GetHold() != nil || len(c.Submit.GetUnmet()) > 0 || spec.GetHold() || len(spec.GetDependencies()) > 0:
			return protocol.Holds
		}
	case *statepb.Command_Requeue:
		if c.Requeue.GetBecause() != "" {
			return protocol.Orders
		}
	case *statepb.Command_PublishName:
		switch {
		case c.PublishName.GetBy() != nil:
			return protocol.Answers
		case !texts.ValidIn(c.PublishName):
			return protocol.Texts
		}
	case *statepb.Command_UnpublishName:
		if c.UnpublishName.GetBy() != nil {
			return protocol.Answers
		}
	case *statepb.Command_HoldJob:
		return protocol.Holds
	case *statepb.Command_MarkRunning:
		if len(c.MarkRunning.GetMet()) > 0 {
			return protocol.Holds
		}
	case *statepb.Command_End:
		if len(c.End.GetMet()) > 0 {
			return protocol.Holds
		}
	case *statepb.Command_OrderRequeue, *statepb.Command_OrderEnd:
		return protocol.Orders
	}
	return protocol.First
}

// raise switches the log to a later protocol from the next command on.
func (s *State) raise(c *statepb.Raise, now int64) error {
	if c.GetProtocol() <= s.protocol {
		return fmt.Errorf("%w: protocol %d after %d", ErrCommand, c.GetProtocol(), s.protocol)
	}
	before, keysBefore := s.protocol, s.submissions.before
	s.undo = append(s.undo, func() { s.protocol, s.submissions.before = before, keysBefore })
	if before < protocol.Keys && c.GetProtocol() >= protocol.Keys && s.nextJob > 1 {
		s.submissions.before = now // submissions in the earlier protocol have left no keys
	}
	s.protocol = c.GetProtocol()
	return nil
}
