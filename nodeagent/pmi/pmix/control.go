package pmix

import (
	"path/filepath"
	"score/nodeagent/pmi/pmix/bfrops"
	"score/nodeagent/pmi/pmix/message"
	"strings"
)

// jobControl registers files for removal at the job's end, and sends signals to ranks of this node.
// It does not serve other directives.
func (c *conn) jobControl(s *Server, tag uint32, r *bfrops.Reader) error {
	m := message.ReadJobControl(r)
	if err := r.Err(); err != nil {
		return err
	}
	recurse := m.Infos.True(message.KeyRecurse)
	code := message.Success
	for i := range m.Infos {
		value := &m.Infos[i].Value
		switch m.Infos[i].Key {
		case message.KeyCleanup:
			code = c.cleanup(s, value.Text, Effect{})
		case message.KeyCleanupDir:
			code = c.cleanup(s, value.Text, Effect{Dir: true, Recurse: recurse})
		case message.KeyRecurse, message.KeyKeep:
		case message.KeySignal:
			code = s.signal(m.Targets, int(value.Signed()))
		case message.KeyKill:
			code = s.signal(m.Targets, sigkill)
		case message.KeyTerminate:
			code = s.signal(m.Targets, sigterm)
		default:
			code = message.ErrUnsupported
		}
		if code != message.Success {
			break
		}
	}
	w := s.writer(c)
	message.WriteResults(w, code, nil)
	s.send(c, tag, w)
	return nil
}

const (
	sigkill   = 9
	sigterm   = 15
	maxSignal = 64 // of Linux: SIGRTMAX (signal(7))
)

// cleanup registers paths for removal, each as the effect says. It accepts only absolute paths,
// since nobody knows a rank's directory at the end.
func (c *conn) cleanup(s *Server, paths string, effect Effect) int32 {
	effect.Kind, effect.Rank = Cleanup, c.rank
	for path := range strings.SplitSeq(paths, ",") {
		if len(path) > maxPath || !filepath.IsAbs(path) || strings.IndexByte(path, 0) >= 0 {
			return message.ErrBadParam
		}
		if s.cleanups == MaxCleanups*len(s.ranks) {
			return message.ErrNoResources
		}
		s.cleanups++
		effect.Path = filepath.Clean(path)
		s.effect(effect)
	}
	return message.Success
}

// signal sends a signal to ranks of this node. Without targets it sends to the whole job.
func (s *Server) signal(targets []bfrops.Proc, number int) int32 {
	if number < 1 || number > maxSignal {
		return message.ErrBadParam
	}
	ranks := []int{NoRank}
	if len(targets) > 0 {
		ranks = ranks[:0]
	}
	for _, target := range targets {
		p, ok := s.proc(target)
		if !ok || p.Job != s.config.Job {
			return message.ErrNotFound
		}
		if _, here := s.engine.Slot(p.Rank); !here && p.Rank >= 0 {
			return message.ErrUnsupported
		}
		ranks = append(ranks, p.Rank)
	}
	for _, rank := range ranks {
		s.effect(Effect{Kind: Signal, Rank: rank, Code: number})
	}
	return message.Success
}

func (c *conn) log(s *Server, tag uint32, r *bfrops.Reader) error {
	m := message.ReadLog(r)
	if err := r.Err(); err != nil {
		return err
	}
	code := message.Success
	for i := range m.Data {
		text := m.Data[i].Value.Text
		switch key := m.Data[i].Key; {
		case key != message.KeyStdout && key != message.KeyStderr:
			code = message.ErrUnsupported
		case text != "":
			text = text[:min(len(text), maxPrint)]
			s.effect(Effect{Kind: Print, Rank: c.rank, Text: text, Stderr: key == message.KeyStderr})
		}
	}
	s.status(c, tag, code)
	return nil
}

// query answers questions about the job and about the server's abilities.
func (c *conn) query(s *Server, tag uint32, r *bfrops.Reader) error {
	queries := message.ReadQuery(r)
	if err := r.Err(); err != nil {
		return err
	}
	var results []bfrops.Info
	asked := 0
	for i := range queries {
		for _, key := range queries[i].Keys {
			asked++
			if value, ok := s.fact(key); ok && len(results) < maxKeys {
				results = append(results, bfrops.Info{Key: key, Value: value})
			}
		}
	}
	code := message.Success
	switch {
	case len(results) == 0:
		code = message.ErrNotFound
	case len(results) < asked:
		code = message.QueryPartial
	}
	w := s.writer(c)
	message.WriteResults(w, code, results)
	s.send(c, tag, w)
	return nil
}

func (s *Server) fact(key string) (bfrops.Value, bool) {
	switch key {
	case "pmix.qry.ns":
		return bfrops.NewString(s.Namespace()), true
	case "pmix.qry.spawn":
		return bfrops.NewString("pmix.wdir,pmix.host"), true
	case "pmix.job.size", "pmix.max.size":
		return bfrops.NewNumber(bfrops.Uint32, uint64(s.engine.Size())), true
	case "pmix.univ.size":
		return bfrops.NewNumber(bfrops.Uint32, uint64(max(s.config.UniverseSize, s.engine.Size()))), true
	case "pmix.num.nodes":
		return bfrops.NewNumber(bfrops.Uint32, uint64(len(s.config.NodeNames))), true
	case "pmix.nlist":
		return bfrops.NewString(strings.Join(s.config.NodeNames, ",")), true
	case "pmix.jobid":
		return bfrops.NewString(s.Namespace()), true
	}
	return bfrops.Value{}, false
}
