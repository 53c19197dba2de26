package stdiorelay

import (
	"io"
	"score/nodeagent/launch"
	"score/nodeagent/stdio"
)

// Numbers of a rank's streams in messages. What both write goes to Stdout if they share a pipe.
const (
	Stdout uint32 = 1
	Stderr uint32 = 2
)

// Stream is one stream of one rank.
type Stream struct {
	Rank   uint32
	Number uint32

	fd        int // -1: not there yet, or ended
	ended     bool
	endNumber uint64      // number of the kept message with its end; 0: none
	hasData   bool        // it has produced output; the end of a silent stream is not reported
	file      *fileStream // nil: none, or given up
}

// NewStream returns a stream that has neither a pipe nor a file.
func NewStream(rank, number uint32) Stream { return Stream{Rank: rank, Number: number, fd: -1} }

// Files holds the output files of a detached job.
type Files struct {
	set    *stdio.Files
	as     *launch.Actor // opens, writes and closes them, with the user's rights
	marks  bool          // of the file opened next
	closed bool
	stored chan struct{} // closed once the files are closed and have all output
}

// Opener opens a file. If marks is set and the job was restarted, it writes a line that says so.
type Opener func(path string, marks bool) (io.WriteCloser, error)

// NewFiles returns files, none of them open, that as opens, writes and closes.
func NewFiles(as *launch.Actor, open Opener) *Files {
	f := &Files{as: as, stored: make(chan struct{})}
	f.set = stdio.NewFiles(func(path string) (io.WriteCloser, error) { return open(path, f.marks) })
	return f
}

// Stored returns a channel that is closed once the files are closed and have all output.
func (f *Files) Stored() <-chan struct{} { return f.stored }

// Open opens the file of a stream, unless another stream has opened it.
func (f *Files) Open(s *Stream, path string, format stdio.Format, marks bool) error {
	f.marks = marks
	var sink *stdio.Sink
	err := f.as.Do(func() (err error) {
		sink, err = f.set.Sink(path)
		return err
	})
	if err != nil {
		return err
	}
	s.file = &fileStream{lines: stdio.NewLines(int(s.Rank), format), sink: sink, as: f.as}
	return nil
}

// Close closes the files, once. It reports data that did not reach the disk before it closes
// Stored, after which the job may end.
func (f *Files) Close(report func(error)) {
	if f.closed {
		return
	}
	f.closed = true
	if err := f.as.Do(f.set.Close); err != nil {
		report(err)
	}
	f.as.Close()
	close(f.stored)
}

// fileStream writes one stream to its file. It appends each line with one write, so that lines of
// several ranks and nodes in one file stay whole.
type fileStream struct {
	lines *stdio.Lines
	sink  *stdio.Sink
	as    *launch.Actor
}

// write appends to a stream's file as the user, because quotas, reserved blocks and set-id bits
// depend on who writes.
func (s *fileStream) write(data []byte, ended bool) error {
	return s.as.Do(func() error {
		err := s.lines.Add(data, s.sink.Write)
		if err == nil && ended {
			err = s.lines.End(s.sink.Write)
		}
		return err
	})
}

// StoreLine appends a line, which no label precedes, to the stream's file. A stream without a file
// drops it.
func (s *Stream) StoreLine(line []byte) error {
	if s.file == nil {
		return nil
	}
	return s.file.as.Do(func() error { return s.file.sink.Write(line) })
}
