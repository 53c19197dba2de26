package pm

import (
	"errors"
	"fmt"
	"score/channels"
	"score/channels/abi"
	"score/channels/handover"
)

// Errors of the package; compare with errors.Is. ErrFull and ErrEmpty are never
// wrapped, so a loop that polls may compare them with ==.
var (
	// ErrFull: no space for the message now. Nothing was sent. Receive what waits,
	// or WaitSpace, and try again.
	ErrFull = errors.New("pm: no space for the message now; receive, then try again")
	// ErrEmpty: no message is there.
	ErrEmpty = errors.New("pm: no message")
	// ErrTooLarge: longer than MaxMessage.
	ErrTooLarge = errors.New("pm: message too long")
	// ErrRank: not a rank of the job.
	ErrRank = errors.New("pm: no such rank")
	// ErrPeerGone: the peer died. The error is a *PeerGoneError.
	ErrPeerGone = errors.New("pm: the peer died")
	// ErrPeerClosed: the peer closed its end of the channel.
	ErrPeerClosed = errors.New("pm: the peer closed the channel")
	// ErrClosed: this end of the channel is closed.
	ErrClosed = errors.New("pm: channel is closed")
	// ErrChannel: there is no channel of this number.
	ErrChannel = errors.New("pm: no such channel")
	// ErrOpen: the channel is open already, in this process or in another one of the rank.
	ErrOpen = errors.New("pm: channel is open already")
	// ErrNoBuffer: Send without GetSendBuffer, or a message given back twice.
	ErrNoBuffer = errors.New("pm: no such buffer is out")
	// ErrDamaged: the memory of the channel says impossible things.
	ErrDamaged = errors.New("pm: the channel's memory is damaged")
	// ErrNode: the node's daemon, which has the memory of the channels, does not answer.
	// Channels and peers that were used before go on without it.
	ErrNode = errors.New("pm: the node's daemon does not answer")
	// ErrFault: bytes to be sent, or their place, are not in memory that the process has.
	ErrFault = errors.New("pm: memory that the process does not have")
	// ErrMemory: the node has no memory for another channel.
	ErrMemory = errors.New("pm: the node has no memory for the channel")
	// ErrNoChannel: the job was not given as many channels for each rank.
	ErrNoChannel = errors.New("pm: the job was not given as many channels; start it with scrun --channels=N for N of each rank")
	// ErrFlow: a peer's end of the channel uses another flow control. The error is a *FlowError.
	ErrFlow = errors.New("pm: the peer uses another flow control")
	// ErrPlaces: with credits each rank of another node has a place in a channel's memory.
	ErrPlaces = errors.New("pm: the job has more ranks on other nodes than the channel has places for credits: " +
		"set PM_FLOW=nack, or start fewer ranks or more of them on each node")
	// ErrEnvironment: the program was not started as a rank, or a setting is wrong.
	ErrEnvironment = errors.New("pm: bad environment")
)

// PeerGoneError says which rank died. It matches ErrPeerGone.
type PeerGoneError struct{ Rank int }

func (e *PeerGoneError) Error() string { return fmt.Sprintf("pm: rank %d died", e.Rank) }

// Is makes errors.Is(err, ErrPeerGone) true.
func (e *PeerGoneError) Is(target error) bool { return target == ErrPeerGone }

// FlowError names the rank whose end of a channel uses another flow control. It matches ErrFlow.
type FlowError struct {
	Channel int
	Rank    int // of the peer; below 0: peers have opened the channel of this rank before it did
	Own     Flow
}

func (e *FlowError) Error() string {
	if e.Rank < 0 {
		return fmt.Sprintf("pm: channel %d: another rank uses %s, this one %s: set %s alike in all ranks", e.Channel, e.Own.other(), e.Own, EnvFlow)
	}
	return fmt.Sprintf("pm: channel %d of rank %d uses %s, this one %s: set %s alike in all ranks", e.Channel, e.Rank, e.Own.other(), e.Own, EnvFlow)
}

// Is makes errors.Is(err, ErrFlow) true.
func (e *FlowError) Is(target error) bool { return target == ErrFlow }

// openError translates an error of the daemon that has the contexts.
func openError(err error) error {
	switch {
	case errors.Is(err, handover.ErrLost):
		return fmt.Errorf("%w: %w", ErrNode, err)
	case errors.Is(err, channels.ErrOwned):
		return fmt.Errorf("%w: %w", ErrOpen, err)
	case errors.Is(err, handover.ErrExhausted), errors.Is(err, channels.ErrMemory):
		return ErrMemory
	case errors.Is(err, handover.ErrNotGiven):
		return ErrNoChannel
	case errors.Is(err, handover.ErrPlaces):
		return ErrPlaces
	case errors.Is(err, handover.ErrChannel):
		return ErrChannel
	default:
		return fmt.Errorf("pm: %w", err)
	}
}

// sendError translates an error of the layer below.
func (c *Channel) sendError(err error, rank int) error {
	switch {
	case errors.Is(err, channels.ErrFull):
		return ErrFull
	case errors.Is(err, channels.ErrTooLarge) && c.flow == FlowCredits:
		return fmt.Errorf("%w: a channel with credits takes messages of up to %d bytes", ErrTooLarge, c.maxMessage)
	case errors.Is(err, channels.ErrTooLarge):
		return ErrTooLarge
	case errors.Is(err, channels.ErrGone), errors.Is(err, handover.ErrGone):
		return &PeerGoneError{Rank: rank}
	case errors.Is(err, channels.ErrClosed):
		return fmt.Errorf("%w: rank %d", ErrPeerClosed, rank)
	case errors.Is(err, channels.ErrFlow), errors.Is(err, handover.ErrFlow):
		return &FlowError{Channel: c.Number(), Rank: rank, Own: c.flow}
	case errors.Is(err, channels.ErrNotReserved):
		return ErrNoBuffer
	case errors.Is(err, channels.ErrDamaged), errors.Is(err, abi.ErrHeader), errors.Is(err, abi.ErrMagic):
		return fmt.Errorf("%w: context of rank %d: %w", ErrDamaged, rank, err)
	case errors.Is(err, handover.ErrLost), errors.Is(err, handover.ErrExhausted), errors.Is(err, handover.ErrNotGiven), errors.Is(err, channels.ErrMemory):
		return openError(err)
	default:
		return fmt.Errorf("pm: rank %d: %w", rank, err)
	}
}
