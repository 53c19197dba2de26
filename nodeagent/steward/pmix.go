package steward

import (
	"fmt"
	"score/nodeagent/launch"
	"score/nodeagent/mpidirs"
	"score/nodeagent/pmi"
	"score/nodeagent/pmi/pmix"
	"score/nodeagent/sockowner"
	"score/nodeagent/steward/loop"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// pmixDrain bounds the reads of what a dead rank has sent, some of which may still be in the rank's
// half of the connection: by Linux's defaults the two halves hold up to 10 MB.
const pmixDrain = 1024

// pmixBacklog is how many ranks may be about to connect; they come at once.
const pmixBacklog = 4096

// pmixEndpoint is where the ranks of a job find PMIx: a loopback port, since the
// client library knows no other way.
type pmixEndpoint struct {
	server   *pmix.Server
	listener int
	address  unix.SockaddrInet4  // of listener
	resolver *sockowner.Resolver // nil until somebody connects
	conns    map[pmix.ConnID]*pmixConn
	dirs     pmixDirs
	cleanups []cleanup
	// addresses holds the addresses of the agents of other jobs' nodes, by job.
	addresses map[uint64][]string
}

// newPMIx makes the PMIx server of a job, and its port.
func (j *job) newPMIx(engine *pmi.Engine, info *pmi.JobInfo, hardware func() string) error {
	listener, address, err := listenLoopback()
	if err != nil {
		return fmt.Errorf("making the PMIx endpoint: %w", err)
	}
	j.pmix = &pmixEndpoint{
		listener: listener, address: address, conns: make(map[pmix.ConnID]*pmixConn),
		dirs: pmixDirs{session: mpidirs.Session(j.order.GetFiles())}, addresses: make(map[uint64][]string),
	}
	config := pmix.Config{
		Job: j.id, NameOf: kvsName, NumberOf: jobNumber,
		RankNode: info.RankNode, RankApp: info.RankApp, UniverseSize: info.UniverseSize,
		Parent: j.order.GetJob().GetParentJob(), SessionDir: j.pmix.dirs.session,
		Hardware: sync.OnceValue(hardware),
	}
	for _, place := range j.order.GetJob().GetPlaces() {
		config.NodeNames = append(config.NodeNames, place.GetNode())
	}
	j.pmix.server = pmix.NewServer(engine, config)
	return nil
}

// listenLoopback listens at a free port of loopback.
func listenLoopback() (fd int, at unix.SockaddrInet4, err error) {
	at.Addr = [4]byte{127, 0, 0, 1}
	fd, err = unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return -1, at, err
	}
	if at.Port, err = listenAt(fd, &at); err != nil {
		loop.CloseFD(fd)
		return -1, at, err
	}
	return fd, at, nil
}

// listenAt makes a socket listen at an address, and returns the port that the kernel chose.
func listenAt(fd int, at *unix.SockaddrInet4) (port int, err error) {
	if err := unix.Bind(fd, at); err != nil {
		return 0, err
	}
	if err := unix.Listen(fd, pmixBacklog); err != nil {
		return 0, err
	}
	name, err := unix.Getsockname(fd)
	if err != nil {
		return 0, err
	}
	return name.(*unix.SockaddrInet4).Port, nil
}

// ownerOf asks the kernel for the owner of a connection's other end. The error
// wraps sockowner.ErrUnknown.
func (e *pmixEndpoint) ownerOf(from unix.Sockaddr) (owner sockowner.Owner, err error) {
	at, ok := from.(*unix.SockaddrInet4)
	if !ok {
		return owner, sockowner.ErrUnknown
	}
	if e.resolver == nil {
		if e.resolver, err = sockowner.NewResolver(); err != nil {
			return owner, err
		}
	}
	return e.resolver.Owner(at, &e.address)
}

func (e *pmixEndpoint) close(cs *clients) {
	if e == nil {
		return
	}
	loop.CloseFD(e.listener)
	e.listener = -1
	if e.resolver != nil {
		e.resolver.Close()
		e.resolver = nil
	}
	for id, c := range e.conns {
		cs.close(&c.conn)
		delete(e.conns, id)
	}
}

// closePMIx closes the endpoint at the end of its job.
func (s *steward) closePMIx() {
	s.endpoint().close(&s.clients)
	s.servesPMIx = false
}

// endpoint returns the job's endpoint, nil without one and while another
// goroutine prepares it.
func (s *steward) endpoint() *pmixEndpoint {
	if !s.servesPMIx {
		return nil
	}
	return s.job.pmix
}

// watchPMIx begins to accept the ranks.
func (s *steward) watchPMIx() {
	s.servesPMIx = s.job.pmix != nil
	e := s.endpoint()
	if e == nil {
		return
	}
	if err := s.loop.Watch(e.listener, unix.EPOLLIN, loop.Tag{Kind: kindPMIxListener}); err != nil {
		s.note(fmt.Sprintf("node %s: PMIx cannot be served: %v", s.job.node, err))
	}
}

// rankEndedPMIx reads everything that a dead rank has sent, which may include its good-bye, and
// notifies the other ranks.
func (s *steward) rankEndedPMIx(k int, status launch.ExitStatus) {
	e, rank := s.job.pmix, int(s.job.ranks[k].rank)
	engine := e.server.Engine()
	if id, ok := e.server.Conn(rank); ok {
		for range pmixDrain {
			if !s.readPMIx(id) {
				break
			}
		}
		phase := engine.Phase(rank)
		s.onClosedPMIx(id)
		s.applyPMIx(e.server.RankEnded(s.now(), rank, phase, status.Code, int(status.Signal)))
		return
	}
	if engine.Protocol() == pmi.ProtocolPMIx {
		phase := engine.Phase(rank)
		if status.Signal == 0 { // an end by a signal ends the job, and is reported in more detail
			s.applyPMIx(e.server.OnNeverConnected(s.now(), rank))
		}
		s.applyPMIx(e.server.RankEnded(s.now(), rank, phase, status.Code, int(status.Signal)))
	}
}

// onPartLost notifies registered ranks that the ranks of another node are gone.
func (s *steward) onPartLost(node int) {
	if s.job == nil {
		return
	}
	places := s.job.order.GetJob().GetPlaces()
	if node < 0 || node >= len(places) || node == int(s.job.order.GetJob().GetNodeIndex()) {
		return
	}
	for _, rank := range places[node].GetRanks() {
		if e := s.engine(); e != nil && s.survivesLoss() {
			if e.IsLost(int(rank)) {
				continue
			}
			s.withEngine(func(e *pmi.Engine) error { return e.Lost(int(rank), pmi.AllFences) })
		}
		if e := s.endpoint(); e != nil {
			s.applyPMIx(e.server.RankLost(s.now(), int(rank)))
		}
	}
}

// speaksPMIx reports whether the ranks speak PMIx.
func (j *job) speaksPMIx() bool {
	return j.pmix != nil && j.pmix.server.Engine().Protocol() == pmi.ProtocolPMIx
}

// withPMIx calls f with the engine, under the PMIx server.
func (s *steward) withPMIx(f func(*pmi.Engine) error) {
	s.applyPMIx(s.job.pmix.server.Do(s.now(), f))
}

// applyPMIx carries out the server's effects. They are valid until the next call of the server, so
// those that lead to such a call come last.
func (s *steward) applyPMIx(effects []pmix.Effect) {
	var last []pmix.Effect
	for i := range effects {
		e := &effects[i]
		switch e.Kind {
		case pmix.Write:
			s.writePMIx(e.Conn, e.Bytes)
		case pmix.Close, pmix.Authenticate:
			last = append(last, *e)
		case pmix.Contact:
			s.finishAdmission()
			s.onContact(s.job.index(e.Rank))
		case pmix.Respawn:
			s.allowRespawns(s.job.index(e.Rank), e.Code)
		case pmix.Finalized:
			s.life.Finalized(s.job.index(e.Rank))
		case pmix.Event:
			s.applyEngine(&e.Event)
		case pmix.Abort:
			s.abort(s.job.index(e.Rank), e.Code, e.Text)
		case pmix.Cleanup:
			s.job.pmix.cleanups = append(s.job.pmix.cleanups, cleanup{path: e.Path, dir: e.Dir, recurse: e.Recurse})
		case pmix.Print:
			s.note(fmt.Sprintf("rank %d: %s", e.Rank, e.Text))
		case pmix.Signal:
			s.signalPMIx(e.Rank, unix.Signal(e.Code))
		case pmix.Violation:
			s.abort(s.job.index(e.Rank), launch.CodeCluster, e.Err.Error())
		}
	}
	for i := range last {
		if e := &last[i]; e.Kind == pmix.Close {
			s.dropPMIx(e.Conn)
		} else {
			s.admitPMIx(e.Conn, e.Rank)
		}
	}
}

func (s *steward) signalPMIx(rank int, sig unix.Signal) {
	if rank == pmix.NoRank {
		s.signal(sig)
		return
	}
	if p := s.job.ranks[s.job.index(rank)].process; p != nil {
		_ = p.SignalGroup(sig) // it fails only for a rank that has just ended
	}
}

func (s *steward) deadlinePMIx() (none time.Time) {
	if s.endpoint() == nil {
		return none
	}
	return s.job.pmix.server.Deadline()
}

func (s *steward) tickPMIx() {
	e, now := s.endpoint(), s.now()
	if e == nil {
		return
	}
	if at := e.server.Deadline(); !at.IsZero() && !now.Before(at) {
		s.applyPMIx(e.server.Tick(now))
	}
}
