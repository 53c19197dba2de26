package options

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"score/nodeagent/stdio"
	"score/scored/api/quote"
	"score/scored/api/scorev1"
	"strings"
	"unicode"
)

// Stream is the target of the ranks' output or the source of their input.
type Stream struct {
	stdio.Target
	// Given reports whether the user gave the option; the default is scrun's own stream.
	Given bool
}

// readStream reads a value of -i, -o or -e. Empty: it was not given.
func (o *Options) readStream(option, text string) (Stream, error) {
	if text == "" {
		return Stream{}, nil
	}
	if strings.ContainsFunc(text, unicode.IsControl) {
		return Stream{}, fmt.Errorf("--%s %q: the name contains control characters", option, text)
	}
	target, err := stdio.ParseTarget(text, int(o.Tasks))
	if err == nil && target.Kind == stdio.File {
		err = o.checkPattern(target.Pattern)
	}
	if err != nil {
		return Stream{}, fmt.Errorf("--%s %s: %w", option, quote.Word(text), err)
	}
	return Stream{Target: target, Given: true}, nil
}

// completeStreams reads the streams, now that the number of ranks is known.
func (o *Options) completeStreams() error {
	var inErr, outErr, errErr error
	o.Stdin, inErr = o.readStream("input", o.input)
	o.Stdout, outErr = o.readStream("output", o.output)
	o.Stderr, errErr = o.readStream("error", o.errors)
	for _, err := range []error{inErr, outErr, errErr} {
		if err != nil {
			return err
		}
	}
	if o.Stdin.Kind == stdio.OneRank && o.Stdin.Rank != 0 {
		return fmt.Errorf("--input %s: input goes to rank 0, to all ranks, or to none", o.input)
	}
	if !o.Stderr.Given && o.Stdout.Kind == stdio.File {
		o.Stderr = o.Stdout // as srun does
	}
	switch {
	case o.PTY:
		return o.completePTY()
	case o.Detach:
		return o.checkDetached()
	}
	return nil
}

// completePTY connects this terminal with rank 0 alone, as srun does.
func (o *Options) completePTY() error {
	switch {
	case o.Detach:
		return errors.New("--pty connects this terminal with rank 0, and --detach does not wait: use one of them")
	case o.Stdin.Given || o.Stdout.Given || o.Stderr.Given || o.Label:
		return errors.New("--pty uses the terminal for all streams of rank 0: leave out -i, -o, -e and -l")
	case o.Respawn > 0:
		return errors.New("--pty ends the terminal with rank 0: leave out --respawn")
	}
	o.Unbuffered = true
	o.Stdout = Stream{Target: stdio.Target{Kind: stdio.OneRank}}
	o.Stderr = o.Stdout
	return nil
}

func (o *Options) checkDetached() error {
	for _, stream := range []Stream{o.Stdin, o.Stdout, o.Stderr} {
		if stream.Given && (stream.Kind == stdio.OneRank || stream.Kind == stdio.All) {
			return errors.New("a detached job has no terminal: give -i, -o and -e a file or none")
		}
	}
	if o.Unbuffered {
		return errors.New("-u has no effect on a detached job: leave out -u or -d")
	}
	return nil
}

// NoInput records that scrun has no input to forward. Unless the user asked for an input, the ranks
// then read an end of input at once, and nothing is sent.
func (o *Options) NoInput() {
	if !o.Stdin.Given {
		o.Stdin.Kind = stdio.None
	}
}

// InputByNodes reports whether every rank opens a file of its own on its node, because the file's
// name depends on rank, node or job. scrun itself reads other files, so that they need not exist on
// the nodes.
func (o *Options) InputByNodes() bool {
	return o.Stdin.Kind == stdio.File && strings.Contains(o.Stdin.Pattern.String(), "%")
}

// setInput sets the source of the ranks' input on the nodes. Every rank reads the whole file, as
// with srun.
func (o *Options) setInput(spec *scorev1.JobSpec, dir string) {
	switch {
	case o.Stdin.Kind == stdio.File && (o.Detach || o.InputByNodes()):
		spec.Stdin = scorev1.StdinMode_STDIN_MODE_NONE
		spec.StdinPattern = absolute(dir, o.Stdin.Pattern.String())
	case o.Stdin.Kind == stdio.None || o.Detach:
		spec.Stdin = scorev1.StdinMode_STDIN_MODE_NONE
	case o.Stdin.Kind == stdio.File || o.Stdin.Given && o.Stdin.Kind == stdio.All:
		spec.Stdin = scorev1.StdinMode_STDIN_MODE_ALL
	default:
		spec.Stdin = scorev1.StdinMode_STDIN_MODE_RANK0
	}
}

// setDetached sets the files that the nodes write.
func (o *Options) setDetached(spec *scorev1.JobSpec, dir string) {
	spec.Detached = true
	spec.Label = o.Label
	spec.StdoutPattern = detachedPattern(dir, o.Stdout, absolute(dir, DetachedPattern))
	if o.Stderr != o.Stdout {
		spec.StderrPattern = detachedPattern(dir, o.Stderr, "")
	}
}

func detachedPattern(dir string, stream Stream, fallback string) string {
	switch stream.Kind {
	case stdio.None:
		return os.DevNull
	case stdio.File:
		return absolute(dir, stream.Pattern.String())
	default:
		return fallback
	}
}

// absolute makes a pattern independent of the current directory.
func absolute(dir, pattern string) string {
	if filepath.IsAbs(pattern) {
		return pattern
	}
	return filepath.Join(strings.ReplaceAll(dir, "%", "%%"), pattern)
}
