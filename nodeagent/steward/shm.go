package steward

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"score/nodeagent/launch"
	"score/nodeagent/privateipc"
	"score/nodeagent/privateshm"
)

// enterShm makes the /dev/shm of the jobs. If it fails they have the host's, and the agent knows
// from the Status: a job that starts is worth more.
func (s *steward) enterShm() {
	if !s.config.privateShm {
		return
	}
	var err error
	if s.shm, err = privateshm.Enter(); err != nil {
		fmt.Fprintf(os.Stderr, "steward: jobs share the host's /dev/shm: %v\n", err)
		s.shm = nil
	}
}

// enterIPC makes the IPC namespace of the jobs, where they have mounts of their own.
func (s *steward) enterIPC() {
	if !s.config.privateIPC || s.shm == nil {
		return
	}
	var err error
	if s.ipc, err = privateipc.Enter(s.forker.Do); err != nil {
		fmt.Fprintf(os.Stderr, "steward: jobs share the host's System V memory and message queues: %v\n", err)
		s.ipc = nil
	}
}

// renewShm empties /dev/shm and the IPC namespace after a job's last process, and before the job is
// over: their memory is another job's then. A steward that cannot do so has no other job. root is
// set for a job of root's.
func (s *steward) renewShm(root bool) {
	var errShm, errIPC error
	if s.shm != nil {
		errShm = s.shm.Renew()
	}
	if s.ipc != nil {
		errIPC = s.ipc.Renew(root)
	}
	if err := errors.Join(errShm, errIPC); err != nil {
		fmt.Fprintf(os.Stderr, "steward: %v\n", err)
		s.loop.Post(func() { s.stale = true })
	}
}

// checkHidden returns an error if the job's directory, program, input or output is below the host's
// /dev/shm, where the job does not see it. Output in its own would be lost with it.
func (j *job) checkHidden() error {
	for k := range j.ranks {
		c := &j.commands[j.app(j.ranks[k].rank)]
		if privateshm.Hides(c.dir) {
			return fmt.Errorf("%w: %w", launch.ErrDir, hiddenError(c.dir))
		}
		if path := j.stagedPath(c.argv[0]); privateshm.Hides(path) {
			return fmt.Errorf("%w: %w", launch.ErrNotFound, hiddenError(path))
		}
	}
	patterns := []string{j.spec.GetStdinPattern()}
	if j.spec.GetDetached() {
		patterns = append(patterns, j.spec.GetStdoutPattern(), j.spec.GetStderrPattern())
	}
	for _, path := range patterns {
		if path != "" && !filepath.IsAbs(path) {
			path = filepath.Join(j.dir, path)
		}
		if privateshm.Hides(path) {
			return fmt.Errorf("%w: %w", errFiles, hiddenError(path))
		}
	}
	return nil
}

// errHidden says what to do.
var errHidden = errors.New("each job has a /dev/shm of its own, which is empty when it starts and is lost with it; use another directory")

func hiddenError(path string) error { return fmt.Errorf("%s: %w", path, errHidden) }
