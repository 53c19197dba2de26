package pmix

import "score/nodeagent/pmi"

// ConnID names a connection.
type ConnID int32

// Kind is the kind of an Effect.
type Kind uint8

const (
	// Write asks to write Bytes to Conn. They are valid until the next call.
	Write Kind = iota + 1
	// Close asks to close Conn once everything is written. OnDisconnected need not be called.
	Close
	// Authenticate asks whether Conn belongs to a process of Rank. Answer with Admit.
	Authenticate
	// Contact reports that Rank was admitted for the first time, over Conn.
	Contact
	// Finalized reports that Rank has finished with PMIx.
	Finalized
	// Event asks to carry out Event, an event of the engine: EventFenceReady, EventNameOp,
	// EventSpawn, EventRelay or EventPlaces.
	Event
	// Abort reports that Rank ends the job with exit code Code, for the reason Text.
	Abort
	// Cleanup asks to remove Path at the end of the job, as the job's user. Dir is set if Path is a
	// directory, Recurse if its content is to be removed with it.
	Cleanup
	// Print asks to show Text to the user, on Rank's output stream or, with Stderr, its error
	// stream.
	Print
	// Signal asks to send signal Code to Rank, or to all ranks of the job here if Rank is NoRank.
	Signal
	// Respawn reports that Rank wants to be started again, up to Code times, when it fails.
	Respawn
	// Violation reports that Rank, or if it is NoRank another node, broke the protocol. Err is the
	// sentence for the user. The job must end.
	Violation
)

// NoRank stands for no rank in particular.
const NoRank = -1

// Effect is something for the caller to do. Only the fields that its kind names are set.
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
