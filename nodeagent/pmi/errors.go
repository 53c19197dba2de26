package pmi

import "errors"

// Errors of a rank, or of a node in an exchange. After any of them the job
// must end: a client that is refused in its init does not abort by itself, it
// hangs.
var (
	// ErrMalformed is text that the protocol's grammar does not allow.
	ErrMalformed = errors.New("malformed PMI request")
	// ErrTooLong is a line, frame, key, value or request above its bound.
	ErrTooLong = errors.New("PMI request is too long")
	// ErrOrder is a request that cannot come at this point, like a put before
	// init.
	ErrOrder = errors.New("PMI request out of order")
	// ErrIdentity is a rank that says it is another one.
	ErrIdentity = errors.New("wrong PMI identity")
	// ErrFull is a rank or job that stores more than its share.
	ErrFull = errors.New("PMI store is full")
	// ErrExchange is fence data of another node that does not fit the job.
	ErrExchange = errors.New("bad PMI fence data")
	// ErrJobInfo is a JobInfo that contradicts itself.
	ErrJobInfo = errors.New("bad PMI job description")
)
