package steward

import (
	"errors"
	"io"
	"os"
	"score/nodeagent/steward/life"
	"score/nodeagent/steward/loop"
	"score/nodeagent/steward/peer"
	"score/nodeagent/steward/stewardpb"
	"score/nodeagent/steward/wire"
	"score/scored/api"
	"score/scored/api/agentpb"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// maxPeers bounds the connections without a first message, which an agent sends at once. If
	// there are too many, the oldest is dropped.
	maxPeers = 16
	// maxUnread bounds the bytes that wait for an agent to read them. An agent that lets more wait
	// hangs: it is disconnected, and its successor gets everything again.
	maxUnread = 80 << 20
)

// accept takes a connection of the agent's own user, or of root.
func (s *steward) accept() {
	fd, _, err := unix.Accept4(s.listener, unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK)
	if err != nil {
		return // the other side has gone again
	}
	cred, err := unix.GetsockoptUcred(fd, unix.SOL_SOCKET, unix.SO_PEERCRED)
	if err != nil || cred.Uid != 0 && int(cred.Uid) != unix.Geteuid() {
		loop.CloseFD(fd)
		return
	}
	s.makeRoom()
	s.nextPeer++
	p := peer.New(s.nextPeer, fd)
	if err := p.Join(s.loop, kindPeer); err != nil {
		p.Close()
		return
	}
	s.peers[p.Number()] = p
}

// makeRoom drops the oldest connection without a message if there are too many.
func (s *steward) makeRoom() {
	if len(s.peers) < maxPeers {
		return
	}
	var oldest *peer.Peer
	for _, p := range s.peers {
		if p != s.control && (oldest == nil || p.Number() < oldest.Number()) {
			oldest = p
		}
	}
	s.drop(oldest)
}

// servePeer reads once from a connection and carries out complete messages.
func (s *steward) servePeer(p *peer.Peer, events uint32) {
	var err error
	if events&(unix.EPOLLIN|unix.EPOLLHUP|unix.EPOLLERR) != 0 {
		err = p.Receive()
	}
	for err == nil && s.peers[p.Number()] == p { // it may belong to the relay now
		var m stewardpb.ToSteward
		var ok bool
		if ok, err = p.Next(&m); !ok || err != nil {
			break
		}
		switch {
		case p == s.control:
			s.onMessage(&m)
		case p.ExpectsDescriptors():
			err = s.keep(p, m.GetKeep())
		default:
			err = s.open(p, &m)
		}
		s.applyLife()
	}
	if err != nil {
		s.drop(p)
	}
}

// drop ends a connection.
func (s *steward) drop(p *peer.Peer) {
	if s.peers[p.Number()] != p {
		return
	}
	delete(s.peers, p.Number())
	p.Leave()
	p.Close()
	if p == s.control {
		s.control = nil
		s.life.AgentLost(s.now())
	}
}

// open reads the purpose of a connection from its first message.
func (s *steward) open(p *peer.Peer, m *stewardpb.ToSteward) error {
	open := m.GetOpen()
	if open == nil {
		return io.ErrUnexpectedEOF
	}
	id := open.GetJobId()
	switch {
	case (open.GetStdio() || open.GetSpares()) && id != 0 && (s.job == nil || s.job.id != id):
		return errOtherJob
	case open.GetStdio():
		delete(s.peers, p.Number())
		p.Leave()
		s.relay.Attach(p, open.GetSequence())
		return nil
	case open.GetSpares():
		return s.openSpares(p)
	}
	if old := s.control; old != nil {
		s.control = nil // its end is no loss: the agent is here
		s.drop(old)
	}
	s.control = p
	s.life.AgentBack(s.now())
	s.send(&stewardpb.FromSteward{Message: &stewardpb.FromSteward_Status{Status: s.status()}})
	s.replay()
	return nil
}

// onMessage carries out a message of the agent.
func (s *steward) onMessage(m *stewardpb.ToSteward) {
	switch body := m.GetMessage().(type) {
	case *stewardpb.ToSteward_Prepare:
		s.prepare(body.Prepare)
	case *stewardpb.ToSteward_Launch:
		s.life.Launch(s.now())
	case *stewardpb.ToSteward_Signal:
		s.signal(unix.Signal(body.Signal))
	case *stewardpb.ToSteward_Ending:
		s.life.Ending(s.now())
	case *stewardpb.ToSteward_Reason:
		s.noteReason(body.Reason)
	case *stewardpb.ToSteward_Kill:
		s.life.Kill(s.now())
	case *stewardpb.ToSteward_PartLost:
		s.onPartLost(int(body.PartLost.GetNodeIndex()))
	case *stewardpb.ToSteward_RankFailure:
		s.onRankFailure(body.RankFailure)
	case *stewardpb.ToSteward_ChildEnded:
		s.onChildEnded(body.ChildEnded)
	case *stewardpb.ToSteward_Lease:
		s.setLease(body.Lease)
	case *stewardpb.ToSteward_Collective:
		s.answerCollective(body.Collective)
	case *stewardpb.ToSteward_Name:
		s.answerName(body.Name)
	case *stewardpb.ToSteward_Relay:
		s.onRelay(body.Relay)
	case *stewardpb.ToSteward_RelayFailed:
		s.onRelayFailed(body.RelayFailed)
	case *stewardpb.ToSteward_Places:
		s.answerPlaces(body.Places)
	case *stewardpb.ToSteward_Spawn:
		s.answerSpawn(body.Spawn)
	case *stewardpb.ToSteward_AskRankStates:
		s.send(&stewardpb.FromSteward{Message: &stewardpb.FromSteward_RankStates{
			RankStates: &agentpb.RankStatesReply{Request: body.AskRankStates, Ranks: s.rankStates(), Start: s.phases.message()},
		}})
	case *stewardpb.ToSteward_Examine:
		s.examine(body.Examine)
	case *stewardpb.ToSteward_Taken:
		s.relay.Acknowledge(body.Taken)
	case *stewardpb.ToSteward_Pace:
		s.relay.SetPace(body.Pace)
	case *stewardpb.ToSteward_Forget:
		s.life.Forget(s.now())
	case *stewardpb.ToSteward_Recycle:
		s.life.Recycle(s.now())
	}
}

// send queues a message for the agent, if there is one. Only a collective's message can be too long
// for the wire; that ends the job.
func (s *steward) send(m *stewardpb.FromSteward) {
	s.flushAt = time.Time{}
	s.enqueue(m)
}

// sendLater queues a message that nobody waits for. It goes with the next urgent message, or after
// sendDelay together with others like it. Otherwise each of many ranks that end would wake agent
// and leader once, on the CPUs of ranks that still work.
func (s *steward) sendLater(m *stewardpb.FromSteward) {
	if s.control != nil && s.control.Unsent() == 0 {
		s.flushAt = s.now().Add(sendDelay)
	}
	s.enqueue(m)
}

// sendDelay is how long sendLater delays a message: too short for a person to notice, and long
// compared with the time between the ends of ranks.
const sendDelay = 10 * time.Millisecond

func (s *steward) enqueue(m *stewardpb.FromSteward) {
	if s.control == nil {
		return
	}
	err := s.control.Queue(m)
	if err == nil && s.control.Unsent() > maxUnread {
		err = errUnread
	}
	if err == nil {
		return
	}
	s.drop(s.control)
}

var errUnread = errors.New("the agent does not read")

// flush writes everything queued since the last call with one write. If all of it comes from
// sendLater, it waits for flushAt.
func (s *steward) flush() {
	if s.control == nil || s.now().Before(s.flushAt) {
		return
	}
	s.flushAt = time.Time{}
	if err := s.control.Flush(); err != nil {
		s.drop(s.control)
		s.applyLife()
	}
}

func (s *steward) status() *stewardpb.Status {
	status := &stewardpb.Status{Version: api.Version(), Protocol: wire.Protocol, Pid: int32(os.Getpid()), PrivateShm: s.shm != nil}
	if s.job == nil {
		return status
	}
	status.JobId, status.Order = s.job.id, s.job.order
	status.Starting, status.Forgotten = s.life.Phase() == life.Starting, s.life.Forgotten()
	if s.outbox.prepared != nil { // else it is in the hands of who prepares
		status.CpuBeforeNanos = s.job.cpuBefore.Nanoseconds()
	}
	status.Prepared = s.outbox.prepared.GetExitCode() == 0 && s.outbox.prepared != nil
	status.Launched = s.outbox.launched != nil
	status.Done = s.outbox.done != nil
	for k := range s.job.ranks {
		r := &s.job.ranks[k]
		if status.Launched {
			status.Pids = append(status.Pids, r.pid())
		}
		if r.exited != nil {
			status.Exits = append(status.Exits, r.exited)
		}
	}
	return status
}
