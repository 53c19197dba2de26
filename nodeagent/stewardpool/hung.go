package stewardpool

import (
	"fmt"
	"slices"
)

// maxHung bounds the stewards of one user that were killed and do not end: each keeps some 5 MB and
// two entries of the process table until the file system answers, or for ever. A user has one for
// each job that was ended while its steward waited, usually none.
const maxHung = 16

// ErrHung refuses a job of a user whose stewards hang.
var ErrHung = fmt.Errorf(
	"this node has more than %d processes that served jobs of yours and cannot be ended, since a file system does not answer; "+
		"look at the directory and the files of these jobs, or use other nodes", maxHung)

// noteHung counts a steward that was killed if it does not end.
func (p *Pool) noteHung(s *Steward) {
	if s.process == nil || s.user == nil || s.process.Ended() {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.dropEnded()
	p.hung = append(p.hung, s.host)
}

// dropEnded forgets the hung stewards that have ended since. The caller holds mu.
func (p *Pool) dropEnded() {
	p.hung = slices.DeleteFunc(p.hung, func(s *host) bool { return s.process.Ended() })
}

// checkHung returns ErrHung if too many stewards of the user hang. The caller holds mu.
func (p *Pool) checkHung(user uint32) error {
	p.dropEnded()
	n := 0
	for _, s := range p.hung {
		if *s.user == user {
			n++
		}
	}
	if n > maxHung {
		return ErrHung
	}
	return nil
}
