package dataplane

import (
	"errors"
	"net"
	"score/channels/handover"
	"score/nodeagent/ancestry"
	"time"

	"go.uber.org/zap"
)

const (
	// launchWait bounds how long a connected rank waits until its steward has reported its start;
	// handover.Client waits as long for an answer.
	launchWait = 10 * time.Second
	// connectionsPerRank bounds a job's connections: a rank needs one, and may start
	// processes that each have one for a while.
	connectionsPerRank = 4
	// acceptPause is the pause after a failed accept, most likely for lack of descriptors.
	acceptPause = 10 * time.Millisecond
)

// accept accepts the ranks' connections until the listener is closed.
func (p *Plane) accept() {
	for {
		conn, err := p.listener.AcceptUnix()
		switch {
		case errors.Is(err, net.ErrClosed):
			return
		case err != nil:
			p.options.Logger.Warn("a rank's connection cannot be accepted", zap.Error(err))
			time.Sleep(acceptPause)
		default:
			p.admit(conn)
		}
	}
}

// admit identifies a connected process. It disconnects at once any process that is neither a rank
// nor a descendant of one.
func (p *Plane) admit(conn *net.UnixConn) {
	who, err := handover.Peer(conn)
	if err != nil || !p.knows(who.Uid) {
		p.refuse(conn, "not the user of a job here", 0)
		return
	}
	var j *Job
	rank, ok := ancestry.ChildOf(int(who.Pid), func(pid int) bool {
		j = p.job(pid)
		return j != nil
	})
	if !ok || j.uid != who.Uid {
		p.refuse(conn, "not a process of a job here", who.Pid)
		return
	}
	j.admit(conn, rank)
}

func (p *Plane) refuse(conn *net.UnixConn, why string, pid int32) {
	_ = conn.Close() // it is closed in any case
	p.options.Logger.Debug("a process may not have a job's channels", zap.String("reason", why), zap.Int32("pid", pid))
}

// knows reports whether a job of the user is here; /proc is not read for other users.
func (p *Plane) knows(uid uint32) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, j := range p.jobs {
		if j.uid == uid {
			return true
		}
	}
	return false
}

// job returns the job whose ranks are children of the process, nil if there is none.
func (p *Plane) job(steward int) *Job {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.jobs[steward]
}
