package bfrops

import "errors"

// What is wrong with a message.
var (
	// ErrMalformed is a message that ends too early, or contradicts itself.
	ErrMalformed = errors.New("malformed PMIx message")
	// ErrTooMany is a message with more values, or deeper ones, than are taken.
	ErrTooMany = errors.New("PMIx message holds too much")
	// ErrType is a value of a type that is not known here.
	ErrType = errors.New("unknown PMIx data type")
)

const (
	// MaxValues bounds the values of one message, so that a megabyte of counts
	// does not become a gigabyte of values. A job-wide list of processes has one
	// per rank.
	MaxValues = 1 << 18
	// MaxDepth bounds arrays within arrays; the deepest that programs send is an
	// array of infos that hold arrays.
	MaxDepth = 8
)
