package pmix

import (
	"score/nodeagent/pmi"
	"score/nodeagent/pmi/pmix/bfrops"
	"score/nodeagent/pmi/pmix/message"
	"strings"
)

// job returns what ranks learn about this job.
func (s *Server) job() *message.Job {
	j := &message.Job{
		Namespace:    s.Namespace(),
		NodeNames:    s.config.NodeNames,
		RankNode:     s.config.RankNode,
		RankApp:      s.config.RankApp,
		UniverseSize: s.config.UniverseSize,
		SessionDir:   s.config.SessionDir,
		Version:      Version,
	}
	if s.config.Parent != 0 {
		j.Parent = &bfrops.Proc{Namespace: s.config.NameOf(s.config.Parent), Rank: bfrops.Undef}
	}
	return j
}

// procs converts names of processes. ok is false if a namespace is not a job's, or a rank is
// impossible.
func (s *Server) procs(names []bfrops.Proc) (procs []pmi.Proc, ok bool) {
	procs = make([]pmi.Proc, 0, len(names))
	for _, name := range names {
		p, ok := s.proc(name)
		if !ok {
			return nil, false
		}
		procs = append(procs, p)
	}
	return procs, true
}

// procName is the inverse of proc.
func (s *Server) procName(p pmi.Proc) bfrops.Proc {
	rank := bfrops.Wildcard
	if p.Rank >= 0 {
		rank = uint32(p.Rank)
	}
	return bfrops.Proc{Namespace: s.config.NameOf(p.Job), Rank: rank}
}

func (s *Server) proc(name bfrops.Proc) (pmi.Proc, bool) {
	job, ok := s.config.NumberOf(strings.TrimRight(name.Namespace, "\x00"))
	switch {
	case !ok:
		return pmi.Proc{}, false
	case name.Rank == bfrops.Wildcard:
		return pmi.Proc{Job: job, Rank: -1}, true
	case name.Rank >= pmi.MaxRanks:
		return pmi.Proc{}, false
	}
	return pmi.Proc{Job: job, Rank: int(name.Rank)}, true
}
