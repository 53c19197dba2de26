package stewardpool

import (
	"errors"
	"fmt"
	"time"

	"go.uber.org/zap"
)

// Memory of an ended job that a process of its user holds a descriptor of (memfd_create), or that is a
// file in the host's /dev/shm, counts for no job. The control group that it is charged to stays until
// it is free, so that it can be counted.

// heldPart is the part of the node's memory that may be held so of a user's ended jobs. A few large
// messages on their way from one job to the next fit.
const heldPart = 16

// ErrHeld refuses a job of a user if much memory of the user's ended jobs is held.
var ErrHeld = errors.New("memory of jobs of yours that have ended is still held on this node")

var errStaysHeld = errors.New("memory of the job is held by other processes")

// keepHeld ends a steward whose last job has left memory that others hold, and keeps its control group.
// It reports whether it did.
func (p *Pool) keepHeld(s *Steward) bool {
	if s.group == nil || s.user == nil || heldIn(s.host) <= maxCharged {
		return false
	}
	s.end()
	if s.group.Kill(time.Now().Add(closeWait)) != nil || heldIn(s.host) <= maxCharged {
		return false
	}
	p.options.Logger.Info("memory of a job that has ended is held by other processes",
		zap.Int("slot", s.Number), zap.Uint32("uid", *s.user), zap.Uint64("bytes", heldIn(s.host)))
	left := newRemains(s.Number, s.Container.Close)
	left.held, left.err = s.host, errStaysHeld
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stuck = append(p.stuck, left)
	return true
}

// heldIn returns the memory that is charged to a group without processes and would be free if nobody
// else held it, in bytes.
func heldIn(s *host) uint64 {
	bytes, err := s.group.SharedMemory()
	if err != nil {
		return 0 // the group is gone, or nothing is counted
	}
	return bytes
}

// stays reports whether the remains cannot be removed yet because memory is held.
func (r *remains) stays() bool { return r.held != nil && heldIn(r.held) > maxCharged }

// heldBytes returns the memory of ended jobs of all users that is held. The caller holds mu.
func (p *Pool) heldBytes() (sum uint64) {
	for _, r := range p.stuck {
		if r.stays() {
			sum += heldIn(r.held)
		}
	}
	return sum
}

// checkHeld returns ErrHeld if too much memory of the user's ended jobs is held. The caller holds mu.
func (p *Pool) checkHeld(user uint32) error {
	if p.options.Memory == 0 {
		return nil
	}
	sum := uint64(0)
	for _, r := range p.stuck {
		if r.held != nil && *r.held.user == user {
			sum += heldIn(r.held)
		}
	}
	if sum <= p.options.Memory/heldPart {
		return nil
	}
	return fmt.Errorf("%w, %d MiB, by processes of yours or by files in /dev/shm; end or remove these, or use other nodes", ErrHeld, sum>>20)
}
