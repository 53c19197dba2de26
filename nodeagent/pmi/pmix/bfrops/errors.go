package bfrops

import "errors"

// The errors of messages.
var (
	// ErrMalformed means that a message ends too early or contradicts itself.
	ErrMalformed = errors.New("malformed PMIx message")
	// ErrTooMany means that a message has too many values, or nests them too deep.
	ErrTooMany = errors.New("PMIx message holds too much")
	// ErrType means that a value has a type that this package does not know.
	ErrType = errors.New("unknown PMIx data type")
)

const (
	// MaxValues bounds the values of one message, so that a megabyte of counts does not become a
	// gigabyte of values. A job-wide list of processes has one value per rank.
	MaxValues = 1 << 18
	// MaxDepth bounds arrays within arrays; the deepest that programs send is an
	// array of infos that hold arrays.
	MaxDepth = 8
)
