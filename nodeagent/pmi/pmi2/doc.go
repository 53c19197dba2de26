// Package pmi2 parses and writes the frames of PMI-2: a length of six characters, then pairs
// key=value, each ended by ';', which is doubled inside a value. It does not know what the commands
// do; see package wire.
//
//	size, err := pmi2.Length(header)
//	var body pmi2.Body
//	if err := body.Parse(frame); err != nil { ... }
//	key, _ := body.Get("key")
package pmi2

// Bounds of the format.
const (
	// HeaderLen is the length of the decimal number before a frame.
	HeaderLen = 6
	// MaxFrame is the longest body of a frame: PMI2_MAX_... of the clients
	// (64 KiB in Slurm's header).
	MaxFrame = 64 << 10
	// MaxThread bounds the mark of a client's thread, a pointer in text.
	MaxThread = 64
)

// ThreadKey is the key of the mark of the requesting thread; the answer repeats it.
const ThreadKey = "thrid"
