package pmix

import (
	"score/nodeagent/pmi"
	"score/nodeagent/pmi/pmix/bfrops"
	"score/nodeagent/pmi/pmix/message"
	"slices"
	"time"
)

func (c *conn) register(s *Server, tag uint32, r *bfrops.Reader) error {
	m := message.ReadRegister(r)
	if err := r.Err(); err != nil {
		return err
	}
	if err := s.engine.Register(c.rank, m.Codes); err != nil {
		return err
	}
	s.status(c, tag, message.Success) // before what it has missed
	return nil
}

// deregister sends no reply, since clients do not wait for one.
func (c *conn) deregister(s *Server, r *bfrops.Reader) error {
	codes := message.ReadDeregister(r)
	if err := r.Err(); err != nil {
		return err
	}
	if slices.Contains(codes, message.AllEvents) {
		codes = nil
	}
	s.engine.Deregister(c.rank, codes)
	return nil
}

func (c *conn) notify(s *Server, tag uint32, r *bfrops.Reader) error {
	m := message.ReadNotify(r)
	if err := r.Err(); err != nil {
		return err
	}
	s.status(c, tag, message.Success)
	s.engine.Notify(pmi.Notice{
		Source: c.rank, Code: m.Code, Range: m.Range, Infos: packInfos(m.Infos),
		Fleeting: m.Infos.True(message.KeyFleeting),
	}, reachOf(m.Range))
	return nil
}

func reachOf(scope uint8) pmi.Reach {
	switch scope {
	case message.RangeProcess:
		return pmi.ReachRank
	case message.RangeNode:
		return pmi.ReachNode
	}
	return pmi.ReachJob
}

// packInfos packs infos for other nodes.
func packInfos(infos []bfrops.Info) string {
	w := bfrops.NewWriter(bfrops.V41, nil)
	w.Infos(infos)
	return string(w.Bytes())
}

// notify sends an event to a client that has registered for it.
func (s *Server) notify(c *conn, n *pmi.Notice) {
	r := bfrops.NewReader(bfrops.V41, []byte(n.Infos))
	infos := r.Infos()
	if r.Err() != nil {
		return // another node sent it
	}
	event := message.Event{
		Code:   n.Code,
		Source: bfrops.Proc{Namespace: s.namespaceOf(n.Job), Rank: uint32(n.Source)},
		Range:  n.Range,
		Infos:  infos,
	}
	w := s.writer(c)
	event.Write(w)
	s.send(c, message.TagNotify, w)
}

// namespaceOf returns the namespace of a job; 0 stands for this job.
func (s *Server) namespaceOf(job uint64) string {
	if job == 0 {
		job = s.config.Job
	}
	return s.config.NameOf(job)
}

// RankLost notifies the registered ranks here that a rank of another node is gone and that its node
// cannot notify them.
func (s *Server) RankLost(now time.Time, rank int) []Effect {
	affected := bfrops.Proc{Namespace: s.Namespace(), Rank: uint32(rank)}
	infos := []bfrops.Info{{Key: message.KeyAffected, Value: bfrops.NewProc(affected)}}
	return s.Do(now, func(e *pmi.Engine) error {
		e.Notify(pmi.Notice{Source: rank, Code: message.ErrProcEnded, Range: message.RangeNamespace, Infos: packInfos(infos)}, pmi.ReachNode)
		return nil
	})
}

// OnRespawned records that a rank of this node, whose connection has ended, was started again, and
// notifies registered ranks.
func (s *Server) OnRespawned(now time.Time, rank, incarnation int) []Effect {
	affected := bfrops.Proc{Namespace: s.Namespace(), Rank: uint32(rank)}
	infos := []bfrops.Info{{Key: message.KeyAffected, Value: bfrops.NewProc(affected)}}
	return s.Do(now, func(e *pmi.Engine) error {
		e.OnRespawned(rank, incarnation)
		if e.Protocol() == pmi.ProtocolPMIx {
			e.Notify(pmi.Notice{Source: rank, Code: message.ErrRestarted, Range: message.RangeNamespace, Infos: packInfos(infos)}, pmi.ReachJob)
		}
		return nil
	})
}

// RankEnded notifies registered ranks how a rank of this node ended: by a signal, with an exit
// code, or without finalizing.
func (s *Server) RankEnded(now time.Time, rank int, phase pmi.Phase, code, signal int) []Effect {
	status := message.ProcEnded
	switch {
	case signal != 0:
		status = message.ErrProcSignal
	case code != 0:
		status = message.ErrProcExit
	case phase == pmi.PhaseActive:
		status = message.ErrProcEnded
	}
	affected := bfrops.Proc{Namespace: s.Namespace(), Rank: uint32(rank)}
	infos := []bfrops.Info{
		{Key: message.KeyAffected, Value: bfrops.NewProc(affected)},
		{Key: message.KeyExitCode, Value: bfrops.Value{Type: bfrops.Int, Number: uint64(int64(code))}},
	}
	if status == message.ProcEnded {
		// Handlers of all codes do not get normal ends.
		infos = append(infos, bfrops.Info{Key: message.KeyNotDefault, Value: bfrops.NewBool(true)})
	}
	return s.Do(now, func(e *pmi.Engine) error {
		e.Notify(pmi.Notice{Source: rank, Code: status, Range: message.RangeNamespace, Infos: packInfos(infos)}, pmi.ReachJob)
		return nil
	})
}
