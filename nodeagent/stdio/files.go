package stdio

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"score/scored/api"
	"sync"
	"syscall"
)

// MaxFiles bounds the files that one Files has open: standard output and error
// of as many ranks as a job may have there.
const MaxFiles = 2 * api.MaxRanksPerNode

// ErrTooManyFiles means that a pattern gave more than MaxFiles names.
var ErrTooManyFiles = errors.New("too many output files")

// Opener opens an output file, truncating it.
type Opener func(path string) (io.WriteCloser, error)

// Files holds the open output files of a job on one node. Ranks and streams with the same file name
// share the file.
type Files struct {
	open Opener

	mu    sync.Mutex
	files map[string]*Sink
}

// NewFiles makes an empty set.
func NewFiles(open Opener) *Files {
	return &Files{open: open, files: make(map[string]*Sink)}
}

// Sink returns the file of that name, opened at the first call.
func (f *Files) Sink(path string) (*Sink, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if s := f.files[path]; s != nil {
		return s, nil
	}
	if len(f.files) == MaxFiles {
		return nil, fmt.Errorf("%w: a job has at most %d on a node; put several ranks into one file", ErrTooManyFiles, MaxFiles)
	}
	w, err := f.open(path)
	if errors.Is(err, syscall.EMFILE) {
		return nil, fmt.Errorf("opening the output file: %w; raise 'ulimit -n', or put several ranks into one file", err)
	}
	if err != nil {
		return nil, fmt.Errorf("opening the output file: %w", err)
	}
	s := &Sink{path: path, to: w}
	f.files[path] = s
	return s, nil
}

// Close closes all files and returns the first error of each: the user must
// learn of data that did not reach the disk.
func (f *Files) Close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	var failed []error
	for _, s := range f.files {
		failed = append(failed, s.close())
	}
	clear(f.files)
	return errors.Join(failed...)
}

// Sink is one output file. Pieces written from several goroutines are not mixed.
type Sink struct {
	path string

	mu  sync.Mutex
	to  io.WriteCloser
	err error // the first failure; nothing is written after it
}

// Write writes one piece. Its signature is Emit's.
func (s *Sink) Write(piece []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil {
		return s.err
	}
	if _, err := s.to.Write(piece); err != nil {
		s.err = fmt.Errorf("writing the output file %s: %w", s.path, withoutPath(err))
	}
	return s.err
}

func (s *Sink) close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.to.Close(); err != nil && s.err == nil {
		s.err = fmt.Errorf("closing the output file %s: %w", s.path, withoutPath(err))
	}
	failed := s.err
	if s.err == nil {
		s.err = fmt.Errorf("writing the output file %s: it is closed", s.path)
	}
	return failed
}

// withoutPath returns the kernel's error without the path, which the sentence already has.
func withoutPath(err error) error {
	if pathError, ok := errors.AsType[*fs.PathError](err); ok {
		return pathError.Err
	}
	return err
}
