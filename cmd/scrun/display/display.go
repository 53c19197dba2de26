package display

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

// Config says how output is shown and where.
type Config struct {
	Tasks      uint32 // ranks of the job
	Label      bool
	Unbuffered bool
	// Output and Errors are where the two streams go; StreamDefault and
	// StreamAll mean Stdout and Stderr.
	Output, Errors options.Stream
	Stdout, Stderr io.Writer
}

// Display shows one job's output. One goroutine uses it.
type Display struct {
	config Config
	jobID  uint64
	direct bool // output goes on as it comes
	routes [streamErr + 1]options.Stream
	own    [streamErr + 1]io.Writer
	nodes  map[uint32]string
	held   map[streamKey][]byte // begun lines
	files  map[string]*os.File
	broken bool // writing failed: the rest is dropped
}

type streamKey struct{ rank, stream uint32 }

// New opens the files whose name is known before the job has a number, so that
// a wrong one is told before anything runs.
func New(config Config) (*Display, error) {
	d := &Display{
		config: config,
		// One rank's lines cannot mix with another's, and its prompts, which
		// end no line, shall be seen.
		direct: config.Unbuffered || config.Tasks == 1 && !config.Label,
		routes: [...]options.Stream{streamOut: config.Output, streamErr: config.Errors},
		own:    [...]io.Writer{streamOut: config.Stdout, streamErr: config.Stderr},
		nodes:  make(map[uint32]string),
		held:   make(map[streamKey][]byte),
		files:  make(map[string]*os.File),
	}
	if config.Errors.Mode == options.StreamDefault && config.Output.Mode == options.StreamFile {
		d.routes[streamErr] = config.Output // as srun does
	}
	for _, route := range d.routes {
		if route.Mode == options.StreamFile && !strings.Contains(route.Pattern, "%") {
			if _, err := d.file(route.Pattern); err != nil {
				return nil, errors.Join(err, d.Close())
			}
		}
	}
	return d, nil
}

// SetJob tells the job's number, for %j.
func (d *Display) SetJob(id uint64) { d.jobID = id }

// Place learns where the ranks run, for %N.
func (d *Display) Place(places []*scorev1.NodePlace) {
	for _, place := range places {
		for _, rank := range place.GetRanks() {
			d.nodes[rank] = place.GetNode()
		}
	}
}

// Show takes one piece of output. After an error everything is dropped.
func (d *Display) Show(output *scorev1.Output) error {
	stream := output.GetStream()
	if d.broken || output.GetRank() >= d.config.Tasks || stream != streamOut && stream != streamErr {
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
func (d *Display) pass(key streamKey, text []byte, eof bool) error {
	if held := d.held[key]; len(held) > 0 {
		text = append(held, text...)
	}
	complete := bytes.LastIndexByte(text, '\n') + 1
	if d.direct || eof || len(text)-complete >= maxLine {
		complete = len(text)
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
func (d *Display) write(key streamKey, text []byte) error {
	out, err := d.writer(key)
	if err != nil || len(text) == 0 {
		return err
	}
	if d.config.Label {
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

func (d *Display) writer(key streamKey) (io.Writer, error) {
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
func (d *Display) expand(pattern string, rank uint32) string {
	return strings.NewReplacer(
		"%t", strconv.FormatUint(uint64(rank), 10),
		"%N", d.nodes[rank],
		"%j", strconv.FormatUint(d.jobID, 10),
		"%%", "%",
	).Replace(pattern)
}

// file opens each name once, so that ranks and streams can share one.
func (d *Display) file(name string) (*os.File, error) {
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

// Close shows begun lines and closes the files.
func (d *Display) Close() error {
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
