// Package pmi1 parses and writes the text of PMI-1: lines of key=value pairs, and the blocks of
// lines that ask for new processes. It does not know what the commands do; see package wire.
//
// The format has no escapes: a value ends at a blank or a line end, and inside a spawn block only
// at the line end. Replies are byte for byte those of MPICH's hydra.
//
//	var line pmi1.Line
//	if err := line.Parse(text); err != nil { ... }
//	key, _ := line.Get("key")
package pmi1

// Bounds of the format, as the clients compile them in (PMIU_MAXLINE and
// MAXKEYVALS of MPICH's simple PMI).
const (
	// MaxLine is the longest line with its line end. Clients truncate longer lines.
	MaxLine = 1024
	// MaxPairs is the largest number of pairs on a line.
	MaxPairs = 64
)
