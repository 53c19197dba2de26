package steward

import (
	"errors"
	"fmt"
	"time"

	"golang.org/x/sys/unix"

	"score/nodeagent/launch"
	"score/nodeagent/mpidirs"
	"score/nodeagent/pmi"
	"score/nodeagent/pmi/pmix"
	"score/nodeagent/sockowner"
	"score/nodeagent/steward/life"
	"score/nodeagent/steward/stewardpb"
	"score/scored/api/scorev1"
)

// pmixBacklog is how many ranks may be about to connect; they come at once.
const pmixBacklog = 4096

// pmixUnsent bounds what waits for one client to read it, in bytes: a client
// reads its answers at once, and one that does not is hung up on.
const pmixUnsent = 32 << 20

// pmixEndpoint is where the ranks of a job find PMIx: a loopback port, since the
// client library knows no other way.
type pmixEndpoint struct {
	server   *pmix.Server
	listener int
	port     int
	conns    map[pmix.ConnID]*pmixConn
	dirs     pmixDirs
	cleanups []cleanup
	// addresses are those of the agents of other jobs' nodes, by job.
	addresses map[uint64][]string
}

// pmixConn is the steward's end of one connection.
type pmixConn struct {
	fd      int
	unsent  []byte
	closing bool // once all has been written
}

// newPMIx makes the PMIx server of a job, and its port.
func (j *job) newPMIx(engine *pmi.Engine, info *pmi.JobInfo) error {
	listener, port, err := listenLoopback()
	if err != nil {
		return fmt.Errorf("making the PMIx endpoint: %w", err)
	}
	j.pmix = &pmixEndpoint{listener: listener, port: port, conns: make(map[pmix.ConnID]*pmixConn),
		dirs: pmixDirs{session: mpidirs.Session(j.order.GetFiles())}, addresses: make(map[uint64][]string)}
	config := pmix.Config{
		Job: j.id, NameOf: kvsName, NumberOf: jobNumber,
		RankNode: info.RankNode, RankApp: info.RankApp, UniverseSize: info.UniverseSize,
		Parent: j.order.GetJob().GetParentJob(), SessionDir: j.pmix.dirs.session,
	}
	for _, place := range j.order.GetJob().GetPlaces() {
		config.NodeNames = append(config.NodeNames, place.GetNode())
	}
	j.pmix.server = pmix.NewServer(engine, config)
	return nil
}

func listenLoopback() (fd, port int, err error) {
	fd, err = unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return -1, 0, err
	}
	err = unix.Bind(fd, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}})
	if err == nil {
		err = unix.Listen(fd, pmixBacklog)
	}
	var name unix.Sockaddr
	if err == nil {
		name, err = unix.Getsockname(fd)
	}
	if err != nil {
		closeFD(fd)
		return -1, 0, err
	}
	return fd, name.(*unix.SockaddrInet4).Port, nil
}

func (e *pmixEndpoint) close() {
	if e == nil {
		return
	}
	closeFD(e.listener)
	e.listener = -1
	for id, c := range e.conns {
		closeFD(c.fd)
		delete(e.conns, id)
	}
}

// closePMIx ends what is left of the endpoint with its job.
func (s *steward) closePMIx() {
	s.endpoint().close() // closing takes a descriptor out of its loop
	s.servesPMIx = false
}

// endpoint is that of the job, nil without one and while it is being prepared by
// another goroutine.
func (s *steward) endpoint() *pmixEndpoint {
	if !s.servesPMIx {
		return nil
	}
	return s.job.pmix
}

// watchPMIx lets the ranks in.
func (s *steward) watchPMIx() {
	s.servesPMIx = s.job.pmix != nil
	e := s.endpoint()
	if e == nil {
		return
	}
	if err := s.loop.watch(e.listener, unix.EPOLLIN, tag{kind: kindPMIxListener}); err != nil {
		s.note(fmt.Sprintf("node %s: PMIx cannot be served: %v", s.job.node, err))
	}
}

// acceptPMIx takes a connection; who it is from is found out from its greeting.
func (s *steward) acceptPMIx() {
	e := s.endpoint()
	if e == nil {
		return
	}
	fd, _, err := unix.Accept4(e.listener, unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK)
	if err != nil {
		return // the other side has gone again
	}
	// Whoever else is on this host shall not even take up room.
	owner, err := sockowner.Of(fd)
	if err != nil || int(owner.UID) != s.job.uid() {
		closeFD(fd)
		return
	}
	id, ok := e.server.Accept()
	if !ok {
		closeFD(fd)
		return
	}
	// Answers are single small packets on which a rank waits.
	_ = unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1)
	e.conns[id] = &pmixConn{fd: fd}
	if err := s.loop.watch(fd, unix.EPOLLIN, tag{kindPMIx, int32(id)}); err != nil {
		s.gonePMIx(id)
	}
}

// servePMIx reads once from a connection, or writes what it has not read yet.
func (s *steward) servePMIx(id pmix.ConnID, events uint32) {
	if s.endpoint() == nil {
		return
	}
	if events&unix.EPOLLOUT != 0 {
		s.writePMIx(id, nil)
	}
	if events&(unix.EPOLLIN|unix.EPOLLHUP|unix.EPOLLERR) != 0 {
		s.readPMIx(id)
	}
}

// readPMIx reads once and tells whether there may be more.
func (s *steward) readPMIx(id pmix.ConnID) bool {
	c := s.job.pmix.conns[id]
	if c == nil {
		return false
	}
	n, err := unix.Read(c.fd, s.pmiBuffer[:])
	switch {
	case errors.Is(err, unix.EINTR):
		return true
	case errors.Is(err, unix.EAGAIN):
		return false
	case err != nil || n == 0:
		s.gonePMIx(id)
		return false
	}
	s.obeyPMIx(s.job.pmix.server.Feed(s.now(), id, s.pmiBuffer[:n]))
	return true
}

// gonePMIx takes the end of a connection.
func (s *steward) gonePMIx(id pmix.ConnID) {
	e := s.job.pmix
	c := e.conns[id]
	if c == nil {
		return
	}
	s.loop.unwatch(c.fd)
	closeFD(c.fd)
	delete(e.conns, id)
	rank, _, ok, effects := e.server.Gone(s.now(), id)
	if ok {
		s.life.Closed(s.now(), s.job.local[uint32(rank)])
	}
	s.obeyPMIx(effects)
}

// rankEndedPMIx takes all that a dead rank has said, its good-bye may be in it,
// and tells the others.
func (s *steward) rankEndedPMIx(k int, status launch.ExitStatus) {
	e, rank := s.job.pmix, int(s.job.ranks[k].rank)
	engine := e.server.Engine()
	if id, ok := e.server.Conn(rank); ok {
		for range pmiDrain {
			if !s.readPMIx(id) {
				break
			}
		}
		phase := engine.Phase(rank)
		s.gonePMIx(id)
		s.obeyPMIx(e.server.RankEnded(s.now(), rank, phase, status.Code, int(status.Signal)))
		return
	}
	if engine.Protocol() == pmi.ProtocolPMIx {
		phase := engine.Phase(rank)
		if status.Signal == 0 { // what ends a rank by a signal ends the job, and says more
			s.obeyPMIx(e.server.Depart(s.now(), rank))
		}
		s.obeyPMIx(e.server.RankEnded(s.now(), rank, phase, status.Code, int(status.Signal)))
	}
}

// writePMIx writes to a connection what it takes, and keeps the rest.
func (s *steward) writePMIx(id pmix.ConnID, data []byte) {
	c := s.job.pmix.conns[id]
	if c == nil {
		return
	}
	full := len(c.unsent) > 0
	if full {
		c.unsent = append(c.unsent, data...)
		data = c.unsent
	}
	n, err := writeSome(c.fd, data)
	if err != nil {
		return // it has hung up: the next read says so
	}
	c.unsent = append([]byte(nil), data[n:]...)
	interest := uint32(unix.EPOLLIN)
	switch {
	case len(c.unsent) > pmixUnsent:
		_ = unix.Shutdown(c.fd, unix.SHUT_RDWR)
		return
	case len(c.unsent) > 0:
		interest = unix.EPOLLOUT // nothing more is taken from it until it reads
	case c.closing:
		s.gonePMIx(id)
		return
	}
	if full || len(c.unsent) > 0 {
		_ = s.loop.rewatch(c.fd, interest, tag{kindPMIx, int32(id)})
	}
}

// speaksPMIx tells whether the ranks speak PMIx.
func (j *job) speaksPMIx() bool {
	return j.pmix != nil && j.pmix.server.Engine().Protocol() == pmi.ProtocolPMIx
}

// doPMIx drives the engine under the server.
func (s *steward) doPMIx(f func(*pmi.Engine) error) {
	s.obeyPMIx(s.job.pmix.server.Do(s.now(), f))
}

// obeyPMIx carries out what the server wants. The effects are the server's until
// its next call, which some of them lead to.
func (s *steward) obeyPMIx(effects []pmix.Effect) {
	if len(effects) == 0 {
		return
	}
	var after []func()
	for i := range effects {
		e := &effects[i]
		switch e.Kind {
		case pmix.Write:
			s.writePMIx(e.Conn, e.Bytes)
		case pmix.Close:
			id := e.Conn
			after = append(after, func() { s.hangUpPMIx(id) })
		case pmix.Authenticate:
			id, rank := e.Conn, e.Rank
			after = append(after, func() { s.admitPMIx(id, rank) })
		case pmix.Contact:
			s.life.Spoke(s.job.local[uint32(e.Rank)])
		case pmix.Finalized:
			s.life.Finalized(s.job.local[uint32(e.Rank)])
		case pmix.Event:
			s.obeyEngine(&e.Event)
		case pmix.Abort:
			s.life.Abort(s.now(), life.Abort{Rank: s.job.local[uint32(e.Rank)], ExitCode: e.Code, Message: e.Text})
		case pmix.Cleanup:
			s.job.pmix.cleanups = append(s.job.pmix.cleanups, cleanup{path: e.Path, dir: e.Dir, recurse: e.Recurse})
		case pmix.Print:
			s.note(fmt.Sprintf("rank %d: %s", e.Rank, e.Text))
		case pmix.Signal:
			s.signalPMIx(e.Rank, unix.Signal(e.Code))
		case pmix.Violation:
			rank := -1
			if e.Rank != pmix.NoRank {
				rank = s.job.local[uint32(e.Rank)]
			}
			s.life.Abort(s.now(), life.Abort{Rank: rank, ExitCode: launch.CodeCluster, Message: e.Err.Error()})
		}
	}
	for _, f := range after {
		f()
	}
}

// hangUpPMIx ends a connection that was refused, once it has been told so.
func (s *steward) hangUpPMIx(id pmix.ConnID) {
	c := s.job.pmix.conns[id]
	if c == nil {
		return
	}
	c.closing = true
	if len(c.unsent) == 0 {
		s.gonePMIx(id)
	}
}

func (s *steward) signalPMIx(rank int, sig unix.Signal) {
	if rank == pmix.NoRank {
		s.signal(sig)
		return
	}
	if p := s.job.ranks[s.job.local[uint32(rank)]].process; p != nil {
		_ = p.SignalGroup(sig) // one that has just ended needs no signal
	}
}

// obeyEngine carries out what concerns others than the ranks here.
func (s *steward) obeyEngine(e *pmi.Event) {
	switch e.Kind {
	case pmi.EventFenceReady:
		s.ask(request{kind: requestCollective, number: e.Seq}, collectiveMessage(e.Seq, e.Data))
	case pmi.EventNameOp:
		s.ask(request{kind: requestName, number: e.Name.ID}, nameMessage(s.job.id, &e.Name))
	case pmi.EventSpawn:
		s.ask(request{kind: requestSpawn, number: e.Spawn.ID}, s.job.spawnMessage(e.Spawn))
	case pmi.EventRelay:
		s.sendRelay(e)
	case pmi.EventPlaces:
		s.ask(request{kind: requestPlaces, number: e.Job}, &stewardpb.FromSteward{Message: &stewardpb.FromSteward_Places{
			Places: &scorev1.PlacesRequest{JobId: s.job.id, Request: e.Job, OfJob: e.Job}}})
	default: // answers to ranks, which the server has taken
	}
}

func (s *steward) deadlinePMIx() (none time.Time) {
	if s.endpoint() == nil {
		return none
	}
	return s.job.pmix.server.Deadline()
}

func (s *steward) tickPMIx() {
	at := s.deadlinePMIx()
	if !at.IsZero() && !s.now().Before(at) {
		s.obeyPMIx(s.job.pmix.server.Tick(s.now()))
	}
}
