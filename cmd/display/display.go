package display

import (
	"errors"
	"fmt"
	"io"
	"os"
	"score/nodeagent/stdio"
	"score/scored/api/filename"
	"score/scored/api/scorev1"
	"strings"
)

// streamOut and streamErr number a rank's streams, as the messages do.
const (
	streamOut = 1
	streamErr = 2
)

// Config determines how output is shown, and where.
type Config struct {
	Tasks      uint32 // ranks of the job
	Label      bool
	Unbuffered bool
	// Output and Errors are the destinations of the two streams. Output that does not go to a file
	// goes to Stdout and Stderr.
	Output, Errors stdio.Target
	Stdout, Stderr io.Writer
}

// Display shows one job's output. Only one goroutine may use it.
type Display struct {
	format stdio.Format
	routes [streamErr + 1]route
	job    uint64
	name   string
	nodes  map[uint32]string
	open   map[streamKey]*stream
	files  *stdio.Files
	broken bool // writing failed: the rest is dropped
}

// route is the destination of one of the two streams.
type route struct {
	stdio.Target
	own io.Writer
}

type streamKey struct{ rank, stream uint32 }

// stream is one stream of one rank.
type stream struct {
	lines *stdio.Lines
	emit  stdio.Emit
}

// New opens the files whose names do not depend on the job's number, so that an error comes before
// anything runs.
func New(config Config) (*Display, error) {
	d := &Display{
		format: stdio.Format{
			Label: config.Label,
			Tasks: int(config.Tasks),
			// A single rank's lines cannot mix with others, and its prompts, which have no line
			// end, must be seen.
			Unbuffered: config.Unbuffered || config.Tasks == 1,
		},
		routes: [...]route{
			streamOut: {config.Output, Patient(config.Stdout)},
			streamErr: {config.Errors, Patient(config.Stderr)},
		},
		nodes: make(map[uint32]string),
		open:  make(map[streamKey]*stream),
		files: stdio.NewFiles(openFile),
	}
	for _, route := range d.routes {
		if route.Kind == stdio.File && !strings.Contains(route.Pattern.String(), "%") {
			if _, err := d.files.Sink(route.Pattern.String()); err != nil {
				return nil, errors.Join(err, d.files.Close())
			}
		}
	}
	return d, nil
}

func openFile(path string) (io.WriteCloser, error) {
	return os.OpenFile(path, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o666)
}

// SetJob sets the job's number and name, for %j and %x.
func (d *Display) SetJob(id uint64, name string) { d.job, d.name = id, name }

func (d *Display) values(rank uint32) filename.Values {
	return filename.Values{Rank: int(rank), Node: d.nodes[rank], Job: d.job, JobName: d.name}
}

// Place sets where the ranks run, for %N, and creates the files of all ranks, including those that
// will write nothing. After an error it drops all output.
func (d *Display) Place(places []*scorev1.NodePlace) error {
	if d.broken {
		return nil
	}
	for _, place := range places {
		for _, rank := range place.GetRanks() {
			d.nodes[rank] = place.GetNode()
			if err := d.makeFiles(rank); err != nil {
				d.broken = true
				return err
			}
		}
	}
	return nil
}

func (d *Display) makeFiles(rank uint32) error {
	for number, route := range d.routes {
		if route.Kind != stdio.File || int(rank) >= d.format.Tasks {
			continue
		}
		if _, err := d.stream(streamKey{rank, uint32(number)}); err != nil {
			return err
		}
	}
	return nil
}

// maxRank bounds the ranks whose output is shown, so that a faulty server cannot fill the memory.
// The job's own number of ranks is no bound, since spawned jobs may have more.
const maxRank = 1 << 20

// Show shows a piece of output. After an error it drops all output.
func (d *Display) Show(output *scorev1.Output) error {
	key := streamKey{output.GetRank(), output.GetStream()}
	known := key.stream == streamOut || key.stream == streamErr
	if d.broken || !known || key.rank >= maxRank {
		return nil
	}
	err := d.pass(key, output)
	d.broken = err != nil
	return err
}

func (d *Display) pass(key streamKey, output *scorev1.Output) error {
	s, err := d.stream(key)
	if err != nil {
		return err
	}
	if err := s.lines.Add(output.GetData(), s.emit); err != nil {
		return err
	}
	if !output.GetEof() {
		return nil
	}
	delete(d.open, key)
	return s.lines.End(s.emit)
}

// stream returns a rank's stream, and opens it first if necessary.
func (d *Display) stream(key streamKey) (*stream, error) {
	if s := d.open[key]; s != nil {
		return s, nil
	}
	emit, err := d.emit(key)
	if err != nil {
		return nil, err
	}
	s := &stream{lines: stdio.NewLines(int(key.rank), d.format), emit: emit}
	d.open[key] = s
	return s, nil
}

// emit returns the destination of a rank's stream.
func (d *Display) emit(key streamKey) (stdio.Emit, error) {
	route := d.routes[key.stream]
	switch {
	case route.Kind == stdio.None, route.Kind == stdio.OneRank && route.Rank != int(key.rank):
		return func([]byte) error { return nil }, nil
	case route.Kind == stdio.File:
		name, err := route.Pattern.Expand(d.values(key.rank))
		if err != nil {
			return nil, err
		}
		sink, err := d.files.Sink(name)
		if err != nil {
			return nil, err
		}
		return sink.Write, nil
	default:
		return func(piece []byte) error {
			if _, err := route.own.Write(piece); err != nil {
				return fmt.Errorf("cannot write the job's output: %w", err)
			}
			return nil
		}, nil
	}
}

// Flush shows incomplete lines. Call it before the output of restarted ranks.
func (d *Display) Flush() error {
	for key, s := range d.open {
		delete(d.open, key)
		if d.broken {
			continue
		}
		if err := s.lines.End(s.emit); err != nil {
			d.broken = true
			return err
		}
	}
	return nil
}

// Close shows incomplete lines and closes the files.
func (d *Display) Close() error {
	var failures []error
	for _, s := range d.open {
		if !d.broken {
			failures = append(failures, s.lines.End(s.emit))
		}
	}
	clear(d.open)
	return errors.Join(append(failures, d.files.Close())...)
}
