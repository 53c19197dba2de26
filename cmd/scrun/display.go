package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"score/cmd/scrun/options"
	"score/scored/api/scorev1"
)

// maxLine is the longest line that is kept together: as much as a steward sends
// at once. What is longer is shown in pieces, so that a rank that writes no
// line's end cannot fill scrun's memory.
const maxLine = 32 << 10

// streamOut and streamErr number a rank's streams, as the messages do.
const (
	streamOut = 1
	streamErr = 2
)

// display shows what the ranks write: by whole lines, each in one write, so
// that lines of ranks do not mix. One goroutine uses it.
type display struct {
	jobID  uint64
	tasks  uint32
	label  bool
	direct bool // output goes on as it comes
	routes [streamErr + 1]options.Stream
	own    [streamErr + 1]io.Writer
	nodes  map[uint32]string
	held   map[streamKey][]byte // begun lines
	files  map[string]*os.File
	broken bool // writing failed: the rest is dropped
}

type streamKey struct{ rank, stream uint32 }

// newDisplay opens the files whose name is known before the job has a number,
// so that a wrong one stops scrun before anything runs.
func newDisplay(o *options.Options, stdout, stderr io.Writer) (*display, error) {
	d := &display{
		tasks: o.Tasks,
		label: o.Label,
		// One rank's lines cannot mix with another's, and its prompts, which
		// end no line, shall be seen.
		direct: o.Unbuffered || o.Tasks == 1 && !o.Label,
		routes: [...]options.Stream{streamOut: o.Stdout, streamErr: o.Stderr},
		own:    [...]io.Writer{streamOut: stdout, streamErr: stderr},
		nodes:  make(map[uint32]string),
		held:   make(map[streamKey][]byte),
		files:  make(map[string]*os.File),
	}
	if o.Stderr.Mode == options.StreamDefault && o.Stdout.Mode == options.StreamFile {
		d.routes[streamErr] = o.Stdout // as srun does
	}
	for _, route := range d.routes {
		if route.Mode == options.StreamFile && !strings.Contains(route.Pattern, "%") {
			if _, err := d.file(route.Pattern); err != nil {
				return nil, errors.Join(err, d.close())
			}
		}
	}
	return d, nil
}

// place learns where the ranks run, for %N.
func (d *display) place(places []*scorev1.NodePlace) {
	for _, place := range places {
		for _, rank := range place.GetRanks() {
			d.nodes[rank] = place.GetNode()
		}
	}
}

// show takes one piece of output. After an error everything is dropped.
func (d *display) show(output *scorev1.Output) error {
	stream := output.GetStream()
	if d.broken || output.GetRank() >= d.tasks || stream != streamOut && stream != streamErr {
		return nil
	}
	key := streamKey{output.GetRank(), stream}
	if err := d.pass(key, output.GetData(), output.GetEof()); err != nil {
		d.broken = true
		return err
	}
	return nil
}

// pass writes what is complete and holds the rest.
func (d *display) pass(key streamKey, text []byte, eof bool) error {
	if held := d.held[key]; len(held) > 0 {
		text = append(held, text...)
	}
	complete := len(text)
	if !d.direct && !eof && len(text) < maxLine {
		complete = bytes.LastIndexByte(text, '\n') + 1
	}
	if complete < len(text) {
		d.held[key] = text[complete:]
	} else {
		delete(d.held, key)
	}
	return d.write(key, text[:complete])
}

// write puts text where the stream goes. A stream that only ends makes its file
// all the same.
func (d *display) write(key streamKey, text []byte) error {
	out, err := d.writer(key)
	if err != nil || len(text) == 0 {
		return err
	}
	if d.label {
		text = labelled(key.rank, text)
	}
	if _, err := out.Write(text); err != nil {
		return fmt.Errorf("cannot write the job's output: %w", err)
	}
	return nil
}

// labelled puts the rank before every line, and ends the last one.
func labelled(rank uint32, text []byte) []byte {
	prefix := strconv.FormatUint(uint64(rank), 10) + ": "
	out := make([]byte, 0, len(text)+len(prefix)*(1+bytes.Count(text, []byte{'\n'}))+1)
	for line := range bytes.Lines(text) {
		out = append(append(out, prefix...), line...)
	}
	if out[len(out)-1] != '\n' {
		out = append(out, '\n')
	}
	return out
}

func (d *display) writer(key streamKey) (io.Writer, error) {
	route := d.routes[key.stream]
	switch route.Mode {
	case options.StreamNone:
		return io.Discard, nil
	case options.StreamRank:
		if route.Rank != key.rank {
			return io.Discard, nil
		}
		return d.own[key.stream], nil
	case options.StreamFile:
		return d.file(d.expand(route.Pattern, key.rank))
	default:
		return d.own[key.stream], nil
	}
}

// expand was checked when the command line was read.
func (d *display) expand(pattern string, rank uint32) string {
	return strings.NewReplacer(
		"%t", strconv.FormatUint(uint64(rank), 10),
		"%N", d.nodes[rank],
		"%j", strconv.FormatUint(d.jobID, 10),
		"%%", "%",
	).Replace(pattern)
}

// file opens each name once, so that ranks and streams can share one.
func (d *display) file(name string) (*os.File, error) {
	if file := d.files[name]; file != nil {
		return file, nil
	}
	file, err := os.OpenFile(name, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o666)
	if err != nil {
		return nil, fmt.Errorf("cannot write the job's output: %w", err)
	}
	d.files[name] = file
	return file, nil
}

// close shows begun lines and closes the files.
func (d *display) close() error {
	var failures []error
	for key, line := range d.held {
		if !d.broken {
			failures = append(failures, d.write(key, line))
		}
	}
	clear(d.held)
	for _, file := range d.files {
		failures = append(failures, file.Close())
	}
	clear(d.files)
	return errors.Join(failures...)
}
