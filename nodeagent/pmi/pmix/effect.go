package pmix

import "score/nodeagent/pmi"

// ConnID names a connection.
type ConnID int32

// Kind says what an Effect asks for.
type Kind uint8

const (
	// Write: write Bytes to Conn. They are valid until the next call.
	Write Kind = iota + 1
	// Close: hang up on Conn once all has been written. RankGone is not needed.
	Close
	// Authenticate: find out whether Conn belongs to a process of Rank, and answer
	// with Admit.
	Authenticate
	// Contact: Rank has been admitted for the first time, over Conn.
	Contact
	// Finalized: Rank has finished with PMIx.
	Finalized
	// Event: carry out Event, which is FenceReady, NameOp, Spawn, Relay or Places
	// of the engine.
	Event
	// Abort: Rank ends the job with exit code Code, for the reason Text.
	Abort
	// Cleanup: remove Path at the end of the job, as the job's user. Dir: it is a
	// directory; Recurse: with all that is in it.
	Cleanup
	// Print: Text is for the user, on the error stream of Rank with Stderr.
	Print
	// Signal: send signal Code to Rank, or with Rank NoRank to all of the job here.
	Signal
	// Respawn: Rank asks to be started again Code times when it fails.
	Respawn
	// Violation: Rank broke the protocol, or NoRank, another node did. Err is the
	// sentence for the user. The job must end.
	Violation
)

// NoRank stands for no rank in particular.
const NoRank = -1

// Effect is something for the caller to do. Only the fields named at its kind
// are set.
type Effect struct {
	Kind    Kind
	Conn    ConnID
	Rank    int
	Bytes   []byte
	Event   pmi.Event
	Code    int
	Text    string
	Path    string
	Dir     bool
	Recurse bool
	Stderr  bool
	Err     error
}
