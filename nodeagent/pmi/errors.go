package pmi

import "errors"

// Errors of a rank, or of a node in an exchange. The job must end after any of them: a client that
// is refused in its init does not abort, but hangs.
var (
	// ErrMalformed means that a text does not follow the protocol's grammar.
	ErrMalformed = errors.New("malformed PMI request")
	// ErrTooLong means that a line, frame, key, value or request is above its bound.
	ErrTooLong = errors.New("PMI request is too long")
	// ErrOrder means that a request cannot come at this point, like a put before init.
	ErrOrder = errors.New("PMI request out of order")
	// ErrIdentity means that a rank claims to be another rank.
	ErrIdentity = errors.New("wrong PMI identity")
	// ErrFull means that a rank or job stores more than its bound.
	ErrFull = errors.New("PMI store is full")
	// ErrExchange means that another node's fence data does not match the job.
	ErrExchange = errors.New("bad PMI fence data")
	// ErrJobInfo means that a JobInfo contradicts itself.
	ErrJobInfo = errors.New("bad PMI job description")
)
