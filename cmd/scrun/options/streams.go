package options

import (
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"score/scored/api/scorev1"
)

// Stream is where the ranks' output goes or their input comes from.
type Stream struct {
	// Mode is what was asked for.
	Mode StreamMode
	// Pattern is the file, for StreamFile; %t rank, %N node, %j job, %% percent.
	Pattern string
	// Rank is the only one connected, for StreamRank.
	Rank uint32
}

// StreamMode distinguishes the forms of -i, -o and -e.
type StreamMode int

const (
	// StreamDefault is scrun's own stream: all output, input to rank 0.
	StreamDefault StreamMode = iota
	// StreamAll connects every rank with scrun's own stream.
	StreamAll
	// StreamNone connects no rank: /dev/null.
	StreamNone
	// StreamRank connects one rank with scrun's own stream.
	StreamRank
	// StreamFile is a file, or several when its pattern names rank or node.
	StreamFile
)

// parseStream reads a value of -i, -o or -e as srun does: all, none, the number
// of a rank, or else a file.
func parseStream(text string) (Stream, error) {
	switch {
	case text == "all":
		return Stream{Mode: StreamAll}, nil
	case text == "none":
		return Stream{Mode: StreamNone}, nil
	case text == "":
		return Stream{}, errors.New("give a file, all, none, or the number of a rank")
	}
	if rank, err := strconv.ParseUint(text, 10, 32); err == nil {
		return Stream{Mode: StreamRank, Rank: uint32(rank)}, nil
	}
	if err := checkPattern(text); err != nil {
		return Stream{}, err
	}
	return Stream{Mode: StreamFile, Pattern: text}, nil
}

// parseInput is parseStream with what holds for input only.
func parseInput(text string) (Stream, error) {
	stream, err := parseStream(text)
	if err == nil && stream.Mode == StreamRank && stream.Rank != 0 {
		return Stream{}, errors.New("input goes to rank 0, to all ranks, or to none")
	}
	return stream, err
}

// checkPattern finds a % that means nothing before anything runs.
func checkPattern(pattern string) error {
	if strings.IndexByte(pattern, 0) >= 0 {
		return errors.New("a file's name cannot hold a zero byte")
	}
	for rest := pattern; ; {
		_, after, found := strings.Cut(rest, "%")
		if !found {
			return nil
		}
		after = strings.TrimLeft(after, "0123456789")
		if after == "" || !strings.ContainsRune("tNj%", rune(after[0])) {
			return fmt.Errorf("in a file's name %%t is the rank, %%N the node, %%j the job and %%%% a percent sign; %q has another", pattern)
		}
		rest = after[1:]
	}
}

// absolute makes a pattern independent of the directory it is used in.
func absolute(dir, pattern string) string {
	if filepath.IsAbs(pattern) {
		return pattern
	}
	return filepath.Join(strings.ReplaceAll(dir, "%", "%%"), pattern)
}

// detachedPattern is what the nodes write: absolute, /dev/null for none.
func detachedPattern(dir string, stream Stream, fallback string) string {
	switch stream.Mode {
	case StreamNone:
		return "/dev/null"
	case StreamFile:
		return absolute(dir, stream.Pattern)
	default:
		return fallback
	}
}

// stdinMode is the mode that the ranks' steward is told.
func stdinMode(stream Stream) scorev1.StdinMode {
	switch stream.Mode {
	case StreamNone:
		return scorev1.StdinMode_STDIN_MODE_NONE
	case StreamAll, StreamFile:
		return scorev1.StdinMode_STDIN_MODE_ALL
	default:
		return scorev1.StdinMode_STDIN_MODE_RANK0
	}
}
