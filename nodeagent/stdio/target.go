package stdio

import (
	"fmt"
	"score/scored/api/filename"
	"strconv"
)

// Kind is the kind of a stream's source or destination.
type Kind uint8

const (
	// All is scrun's own stream, for all ranks.
	All Kind = iota
	// None means no input, or discarded output.
	None
	// OneRank is scrun's own stream, for one rank only.
	OneRank
	// File is a file, or several.
	File
)

// Target is the meaning of the argument of -o, -e or -i.
type Target struct {
	Kind    Kind
	Rank    int              // of OneRank
	Pattern filename.Pattern // of File
}

// ParseTarget parses an argument of -o, -e or -i as in srun: "all", "none", a rank, or a file name.
// ./all names a file called all. The number of tasks bounds the rank.
func ParseTarget(text string, tasks int) (Target, error) {
	switch text {
	case "all":
		return Target{Kind: All}, nil
	case "none":
		return Target{Kind: None}, nil
	}
	if rank, err := strconv.Atoi(text); err == nil {
		if rank < 0 || rank >= tasks {
			return Target{}, fmt.Errorf("%w: rank %d is not one of 0 to %d; write ./%s for a file of that name",
				filename.ErrInvalid, rank, tasks-1, text)
		}
		return Target{Kind: OneRank, Rank: rank}, nil
	}
	p, err := filename.Parse(text)
	if err != nil {
		return Target{}, err
	}
	return Target{Kind: File, Pattern: p}, nil
}
