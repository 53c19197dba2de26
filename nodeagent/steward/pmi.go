package steward

import (
	"errors"
	"fmt"
	"score/nodeagent/fence"
	"score/nodeagent/launch"
	"score/nodeagent/pmi"
	"score/nodeagent/pmi/wire"
	"score/nodeagent/steward/loop"
	"score/nodeagent/steward/stewardpb"
	"score/scored/api/agentpb"

	"golang.org/x/sys/unix"
)

// pmiBuffer is how much of one rank's requests is read at once, in bytes. A
// PMI-1 line has at most 1 KB, and clients send one at a time.
const pmiBuffer = 16 << 10

// newPMI makes the PMI server of a job. hardware returns the description of the node's hardware.
func (j *job) newPMI(hardware func() string) error {
	nodes, err := j.rankNode()
	if err != nil {
		return err
	}
	p := j.order.GetJob()
	info := pmi.JobInfo{
		Job:          j.id,
		KVSName:      kvsName(j.id),
		RankNode:     nodes,
		NodeIndex:    int(p.GetNodeIndex()),
		UniverseSize: int(p.GetUniverseSize()),
		Preput:       p.GetPreput(),
		Hardware:     j.hardware,
		Survive:      j.spec.GetRecover() || j.spec.GetRespawn() > 0,
	}
	if parent := p.GetParentJob(); parent != 0 {
		info.SpawnerJob = kvsName(parent)
	}
	info.RankApp = j.rankApps()
	engine, err := pmi.NewEngine(info)
	if err != nil {
		return err
	}
	if j.offer.pmi {
		j.pmi = wire.NewServer(engine)
	}
	if j.offer.pmix {
		return j.newPMIx(engine, &info, hardware)
	}
	return nil
}

// watchPMI watches the steward's ends of the connections of ranks from low on.
func (s *steward) watchPMI(low int, fds []int) {
	for i, fd := range fds {
		if err := s.clients.open(&s.job.ranks[low+i].pmi, fd, loop.Tag{Kind: kindPMI, Index: int32(low + i)}); err != nil {
			s.abort(low+i, launch.CodeCluster, err.Error())
		}
	}
}

// servePMI reads once from local rank k, or writes data that the rank has not read yet.
func (s *steward) servePMI(k int, events uint32) {
	p := &s.job.ranks[k].pmi
	if p.fd < 0 {
		return
	}
	if events&unix.EPOLLOUT != 0 {
		s.sendPMI(k, nil)
	}
	if s.clients.mayRead(p, events) {
		s.readPMI(k)
	}
}

// readPMI reads once and reports whether there may be more.
func (s *steward) readPMI(k int) bool {
	r := &s.job.ranks[k]
	if r.pmi.fd < 0 {
		return false
	}
	data, more, closed := s.readOnce(r.pmi.fd)
	switch {
	case closed:
		s.closePMI(k)
	case data != nil:
		s.applyPMI(s.job.pmi.Feed(int(r.rank), data))
	}
	return more
}

// readOnce reads from a connection that does not block. more reports whether there may be more. The
// data are valid until it is called again.
func (s *steward) readOnce(fd int) (data []byte, more, closed bool) {
	n, err := unix.Read(fd, s.pmiBuffer[:])
	switch {
	case errors.Is(err, unix.EINTR):
		return nil, true, false
	case errors.Is(err, unix.EAGAIN):
		return nil, false, false
	case err != nil || n == 0:
		return nil, false, true
	}
	return s.pmiBuffer[:n], true, false
}

// closePMI handles the end of rank k's connection.
func (s *steward) closePMI(k int) {
	r := &s.job.ranks[k]
	if s.job.pmi == nil || r.pmi.fd < 0 {
		return
	}
	s.clients.close(&r.pmi)
	if protocol := s.job.pmi.Engine().Protocol(); s.job.pmix != nil && (protocol == 0 || protocol == pmi.ProtocolPMIx) {
		return // a rank that speaks PMIx, or may do so later, need not keep this open
	}
	_, effects := s.job.pmi.RankGone(int(r.rank))
	s.life.Closed(s.now(), k)
	s.applyPMI(effects)
}

// drainPMI reads everything that a dead rank has sent: its good-bye may be in it.
func (s *steward) drainPMI(k int) {
	for range pmiDrain {
		if !s.readPMI(k) {
			break
		}
	}
	s.closePMI(k)
}

// pmiDrain bounds the reads of drainPMI: a socket holds less, and a child of
// the dead rank could go on writing.
const pmiDrain = 64

// engine returns the engine of the job's PMI and PMIx, nil without both and while another goroutine
// makes it.
func (s *steward) engine() *pmi.Engine {
	switch {
	case s.outbox.prepared == nil || s.outbox.prepared.GetExitCode() != 0:
	case s.job.pmi != nil:
		return s.job.pmi.Engine()
	case s.job.pmix != nil:
		return s.job.pmix.server.Engine()
	}
	return nil
}

// withEngine calls f with the engine, under the server of the protocol that the ranks speak.
func (s *steward) withEngine(f func(*pmi.Engine) error) {
	if s.job.speaksPMIx() || s.job.pmi == nil {
		s.withPMIx(f)
		return
	}
	s.applyPMI(s.job.pmi.Do(f))
}

// applyPMI carries out the server's effects.
func (s *steward) applyPMI(effects []wire.Effect) {
	for i := range effects {
		e := &effects[i]
		switch e.Kind {
		case wire.Reply:
			s.sendPMI(s.job.index(e.Rank), e.Bytes)
		case wire.Join:
			s.joinKeys(s.job.index(e.Rank), e.Bytes)
		case wire.Contact:
			s.onContact(s.job.index(e.Rank))
		case wire.Respawn:
			s.allowRespawns(s.job.index(e.Rank), e.Code)
		case wire.Finalized:
			s.life.Finalized(s.job.index(e.Rank))
		case wire.Event:
			s.applyEngine(e.Event)
		case wire.Abort:
			s.abort(s.job.index(e.Rank), e.Code, e.Message)
		case wire.Violation:
			s.abort(s.job.index(e.Rank), launch.CodeCluster, e.Err.Error())
		}
	}
}

// applyEngine carries out events that concern others than the ranks here.
func (s *steward) applyEngine(e *pmi.Event) {
	switch e.Kind {
	case pmi.EventFenceReady:
		s.fence(e.Seq, e.Data, s.engine().Stats())
	case pmi.EventNameOp:
		s.askLeader(request{kind: requestName, number: e.Name.ID}, nameMessage(s.job.id, &e.Name))
	case pmi.EventSpawn:
		s.askLeader(request{kind: requestSpawn, number: e.Spawn.ID}, s.job.spawnMessage(e.Rank, e.Spawn))
	case pmi.EventRelay:
		s.sendRelay(e)
	case pmi.EventPlaces:
		s.askLeader(request{kind: requestPlaces, number: e.Job}, &stewardpb.FromSteward{Message: &stewardpb.FromSteward_Places{
			Places: &agentpb.PlacesRequest{JobId: s.job.id, Request: e.Job, OfJob: e.Job},
		}})
	default: // answers to ranks, which the server has taken
	}
}

// sendPMI writes to local rank k.
func (s *steward) sendPMI(k int, data []byte) {
	if c := &s.job.ranks[k].pmi; c.fd >= 0 {
		s.checkSent(k, s.clients.send(c, data))
	}
}

// checkSent handles the result of clients.send to local rank k; -1: nobody knows which rank it is.
// A rank that does not read ends the job.
func (s *steward) checkSent(k int, err error) {
	if err == nil {
		s.countUnsent()
		return
	}
	message := s.job.failure(err)
	if k >= 0 {
		message = fmt.Sprintf("rank %d: %v", s.job.ranks[k].rank, err)
	}
	s.abort(k, launch.CodeCluster, message)
}

func collectiveMessage(seq uint64, data []byte, stats pmi.Stats) *stewardpb.FromSteward {
	return &stewardpb.FromSteward{Message: &stewardpb.FromSteward_Collective{Collective: &stewardpb.Collective{
		Kind: uint32(fence.KindFence), Sequence: seq, Data: append([]byte(nil), data...),
		PlainBytes: stats.PlainBytes, PackedBytes: stats.PackedBytes,
	}}}
}

func nameMessage(job uint64, op *pmi.NameOp) *stewardpb.FromSteward {
	request := &agentpb.NameRequest{JobId: job, Request: op.ID, Service: op.Service, Port: op.Port, Wait: op.Wait, Once: op.Once}
	switch op.Kind {
	case pmi.NamePublish:
		request.Op = agentpb.NameOp_NAME_OP_PUBLISH
	case pmi.NameLookup:
		request.Op = agentpb.NameOp_NAME_OP_LOOKUP
	case pmi.NameUnpublish:
		request.Op = agentpb.NameOp_NAME_OP_UNPUBLISH
	}
	return &stewardpb.FromSteward{Message: &stewardpb.FromSteward_Name{Name: request}}
}

func (s *steward) answerName(m *agentpb.NameReply) {
	if !s.answered(request{kind: requestName, number: m.GetRequest()}) {
		return
	}
	text := m.GetPort()
	if !m.GetOk() {
		text = m.GetError()
	}
	s.withEngine(func(e *pmi.Engine) error {
		e.NameResult(m.GetRequest(), m.GetOk(), text)
		return nil
	})
}

func (s *steward) answerSpawn(m *agentpb.SpawnReply) {
	if !s.answered(request{kind: requestSpawn, number: m.GetRequest()}) {
		return
	}
	result := pmi.SpawnResult{Failed: m.GetError()}
	switch {
	case m.GetChildJob() != 0:
		result.KVSName = kvsName(m.GetChildJob())
	case result.Failed == "":
		result.Failed = "the cluster refused the new processes"
	}
	s.withEngine(func(e *pmi.Engine) error {
		e.SpawnResult(m.GetRequest(), result)
		return nil
	})
}
