package state

import (
	"errors"
	"fmt"
	"score/scored/state/statepb"
	"slices"
)

// Apply applies one entry to the state. If one of its commands does not fit, Apply changes nothing
// and returns an error that names the command and wraps one of this package's sentinels. The state
// keeps references into the entry.
func (s *State) Apply(entry *statepb.Entry) error {
	switch {
	case len(entry.GetCommands()) == 0:
		return ErrEmpty
	case entry.GetTimeNanos() < s.nanos:
		return fmt.Errorf("%w: %d after %d", ErrTime, entry.GetTimeNanos(), s.nanos)
	}
	s.undo = s.undo[:0]
	for i, command := range entry.GetCommands() {
		if err := s.apply(command, entry.GetTimeNanos()); err != nil {
			s.rollBack()
			if errors.Is(err, ErrProtocol) {
				return err // a sentence for the server's administrator
			}
			return fmt.Errorf("command %d (%T): %w", i, command.GetCommand(), err)
		}
	}
	clear(s.undo)
	s.nanos = entry.GetTimeNanos()
	return nil
}

func (s *State) apply(command *statepb.Command, now int64) error {
	if err := understood(Needs(command)); err != nil {
		return err
	}
	switch c := command.GetCommand().(type) {
	case *statepb.Command_RegisterNode:
		return s.registerNode(c.RegisterNode)
	case *statepb.Command_NodeGone:
		return s.nodeGone(c.NodeGone)
	case *statepb.Command_DrainNode:
		return s.drainNode(c.DrainNode, now)
	case *statepb.Command_Submit:
		return s.submit(c.Submit, now)
	case *statepb.Command_Allocate:
		return s.allocate(c.Allocate, now)
	case *statepb.Command_MoveRow:
		return s.moveRow(c.MoveRow)
	case *statepb.Command_Requeue:
		return s.requeue(c.Requeue, now)
	case *statepb.Command_OrderRequeue:
		return s.orderRequeue(c.OrderRequeue)
	case *statepb.Command_OrderEnd:
		return s.orderEnd(c.OrderEnd)
	case *statepb.Command_MarkRunning:
		return s.markRunning(c.MarkRunning)
	case *statepb.Command_End:
		return s.end(c.End, now)
	case *statepb.Command_HoldJob:
		return s.holdJob(c.HoldJob)
	case *statepb.Command_SetSettings:
		return s.setSettings(c.SetSettings, now)
	case *statepb.Command_PublishName:
		return s.publish(c.PublishName)
	case *statepb.Command_UnpublishName:
		return s.unpublish(c.UnpublishName)
	case *statepb.Command_AddToken:
		return s.addToken(c.AddToken, now)
	case *statepb.Command_RemoveToken:
		return s.removeToken(c.RemoveToken)
	case *statepb.Command_Admit:
		return s.admit(c.Admit, now)
	case *statepb.Command_RenewCertificate:
		return s.renewCertificate(c.RenewCertificate, now)
	case *statepb.Command_RevokeCertificates:
		return s.revokeCertificates(c.RevokeCertificates)
	case *statepb.Command_SetUser:
		return s.setUser(c.SetUser)
	case *statepb.Command_Raise:
		return s.raise(c.Raise, now)
	case *statepb.Command_Charge:
		return s.charge(c.Charge, now)
	default:
		return ErrCommand
	}
}

// rollBack undoes the commands of the entry that were applied before one failed, last first.
func (s *State) rollBack() {
	for _, undo := range slices.Backward(s.undo) {
		undo()
	}
	clear(s.undo)
}

// put sets a record (nil deletes it) and records how to undo that.
func put[K comparable, V any](s *State, records map[K]*V, key K, record *V) {
	old := records[key]
	set := func(r *V) {
		if r == nil {
			delete(records, key)
			return
		}
		records[key] = r
	}
	set(record)
	s.undo = append(s.undo, func() { set(old) })
}
