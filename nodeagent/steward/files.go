package steward

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"score/nodeagent/launch"
	"score/nodeagent/stdio"
	"score/nodeagent/steward/stdiorelay"
	"score/nodeagent/userfs"
	"score/scored/api/filename"
	"score/scored/api/quote"
	"time"

	"golang.org/x/sys/unix"
)

// together reports whether both streams of a rank go to one file. Then they share a pipe, which
// keeps their order.
func (j *job) together() bool {
	pattern := j.spec.GetStderrPattern()
	return pattern == "" || pattern == j.spec.GetStdoutPattern()
}

// openFiles opens the output files of a detached job as its user, before anything runs: an error
// there is an error of the job. An empty pattern means no file; an attached reader gets the stream
// in any case.
func openFiles(j *job) (*stdiorelay.Files, error) {
	f, err := newJobFiles(j)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errFiles, err)
	}
	for i := range j.outputs {
		if err := j.openOutput(f, &j.outputs[i]); err != nil {
			return f, fmt.Errorf("%w: %w", errFiles, err)
		}
	}
	return f, nil
}

// newJobFiles returns the job's output files, none of them open.
func newJobFiles(j *job) (*stdiorelay.Files, error) {
	as, err := launch.NewActor(j.user)
	if err != nil {
		return nil, err
	}
	return stdiorelay.NewFiles(as, j.openFile), nil
}

// openFile opens one file. It keeps the output of earlier attempts of the job, and adds a line that
// says that the job starts again.
func (j *job) openFile(path string, marks bool) (io.WriteCloser, error) {
	mode := os.FileMode(0o666 &^ j.spec.GetUmask())
	flags := os.O_WRONLY | os.O_CREATE | os.O_APPEND
	restarts := j.order.GetJob().GetRestarts()
	if restarts == 0 {
		flags |= os.O_TRUNC
	}
	file, err := userfs.OpenFile(path, flags, mode)
	if err != nil || restarts == 0 || !marks {
		return file, err
	}
	about, err := file.Stat()
	if err == nil && about.Size() > 0 {
		_, err = file.WriteString(j.restartLine())
	}
	if err != nil {
		file.Close()
		return nil, err
	}
	return file, nil
}

// restartLine separates the output of two attempts in a file.
func (j *job) restartLine() string {
	because := j.order.GetJob().GetRestartedBecause()
	if because != "" {
		because = ": " + because
	}
	return fmt.Sprintf("--- job %d restarts (restart %d)%s ---\n", j.id, j.order.GetJob().GetRestarts(), because)
}

// slowOpening is the time after which the user learns that a file is still being opened. Only a
// FIFO whose other end nobody opens, and a file system that does not answer, take as long.
const slowOpening = 5 * time.Second

// opening notifies the user if a file is not open after slowOpening. The caller calls opened when
// it is.
func (j *job) opening(path string) (opened func()) {
	timer := time.AfterFunc(slowOpening, func() {
		j.note(fmt.Sprintf("node %s has been opening %s for %v; if it is a FIFO, another program must open its other end",
			j.node, quote.Word(path), slowOpening))
	})
	return func() { timer.Stop() }
}

// openOutput opens the file of a stream, if it has one.
func (j *job) openOutput(f *stdiorelay.Files, o *stdiorelay.Stream) error {
	pattern := j.spec.GetStdoutPattern()
	if o.Number == stdiorelay.Stderr {
		pattern = j.spec.GetStderrPattern()
	}
	if pattern == "" {
		return nil
	}
	p, err := filename.Parse(pattern)
	if err != nil {
		return err
	}
	path, err := j.expand(pattern, o.Rank)
	if err != nil {
		return err
	}
	defer j.opening(path)()
	// In a file that all nodes share, the first node marks the restart.
	marks := p.PerRank() || p.PerNode() || j.order.GetJob().GetNodeIndex() == 0
	return f.Open(o, path, stdio.Format{Label: j.spec.GetLabel(), Tasks: j.size()}, marks)
}

// expand expands a pattern to a file name; a relative name starts in the working directory.
func (j *job) expand(pattern string, rank uint32) (string, error) {
	p, err := filename.Parse(pattern)
	if err != nil {
		return "", err
	}
	path, err := p.Expand(filename.Values{Rank: int(rank), Node: j.node, Job: j.id, JobName: j.spec.GetName()})
	if err != nil {
		return "", err
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(j.dir, path)
	}
	return path, nil
}

// openInput opens the input file of local rank k.
func (j *job) openInput(k int) error {
	r := &j.ranks[k]
	path, err := j.expand(j.spec.GetStdinPattern(), r.rank)
	if err != nil {
		return err
	}
	defer j.opening(path)()
	r.stdin, err = userfs.Open(path, unix.O_RDONLY, 0)
	if err != nil {
		return fmt.Errorf("opening the input file: %w", err)
	}
	return nil
}

// openInputs opens the ranks' input files, as the user.
func (j *job) openInputs() error {
	err := launch.AsUser(j.user, func() error {
		for k := range j.ranks {
			if err := j.openInput(k); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("%w: %w", errFiles, err)
	}
	return nil
}
