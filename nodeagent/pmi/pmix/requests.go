package pmix

import (
	"errors"
	"fmt"
	"score/nodeagent/pmi"
	"score/nodeagent/pmi/pmix/bfrops"
	"score/nodeagent/pmi/pmix/message"
	"strings"
	"time"
)

// request carries out a message of an admitted client. An error ends the job.
func (c *conn) request(s *Server, tag uint32, payload []byte) error {
	r := bfrops.NewReader(c.encoding, payload)
	command := message.Command(r.Command())
	if err := r.Err(); err != nil {
		return err
	}
	if err := s.engine.Active(c.rank, []byte(command.String())); err != nil {
		return err
	}
	err := c.command(s, tag, command, r)
	if errors.Is(err, bfrops.ErrType) || errors.Is(err, bfrops.ErrTooMany) {
		s.status(c, tag, message.ErrUnknownType) // it may be a newer library's
		return nil
	}
	if err != nil {
		return fmt.Errorf("%s: %w", command, err)
	}
	return nil
}

func (c *conn) command(s *Server, tag uint32, command message.Command, r *bfrops.Reader) error {
	switch command {
	case message.JobInfo:
		c.jobInfo(s, tag)
		return nil
	case message.Abort:
		return c.abort(s, tag, r)
	case message.Commit:
		return c.commit(s, tag, r)
	case message.Fence, message.Connect, message.Disconnect:
		return c.collective(s, tag, command, r)
	case message.GroupConstruct:
		return c.group(s, tag, pmi.GroupConstruct, r)
	case message.GroupDestruct:
		return c.group(s, tag, pmi.GroupDestruct, r)
	case message.Get:
		return c.get(s, tag, r)
	case message.Finalize:
		return c.finalize(s, tag)
	case message.Publish:
		return c.publish(s, tag, r)
	case message.Lookup:
		return c.lookup(s, tag, r)
	case message.Unpublish:
		return c.unpublish(s, tag, r)
	case message.Spawn:
		return c.spawn(s, tag, r)
	case message.Notify:
		return c.notify(s, tag, r)
	case message.RegisterEvents:
		return c.register(s, tag, r)
	case message.DeregisterEvents:
		return c.deregister(s, r)
	case message.Query:
		return c.query(s, tag, r)
	case message.Log:
		return c.log(s, tag, r)
	case message.JobControl:
		return c.jobControl(s, tag, r)
	default:
		s.status(c, tag, message.ErrUnsupported)
		return nil
	}
}

// jobInfo replies with the information that is the same for all ranks of the node.
func (c *conn) jobInfo(s *Server, tag uint32) {
	info, ok := s.info[c.encoding]
	if !ok {
		w := s.writer(c)
		message.WriteJob(w, s.job())
		info = w.Bytes()
		s.info[c.encoding] = info
	}
	s.send(c, tag, bfrops.NewWriter(c.encoding, info))
}

func (c *conn) abort(s *Server, tag uint32, r *bfrops.Reader) error {
	m := message.ReadAbort(r)
	if err := r.Err(); err != nil {
		return err
	}
	s.status(c, tag, message.Success)
	text := firstLine(m.Text)
	if text == "N/A" { // MPI_Abort of Open MPI, which has printed the rank and the code itself
		text = ""
	}
	s.engine.Abort(c.rank, int(m.Code), text)
	return nil
}

// firstLine returns the first line of a program's text, cut to the length that a verdict may have.
func firstLine(text string) string {
	const maxText = 256
	text, _, _ = strings.Cut(strings.TrimSpace(text), "\n")
	return strings.ToValidUTF8(text[:min(len(text), maxText)], "?")
}

func (c *conn) commit(s *Server, tag uint32, r *bfrops.Reader) error {
	parts := message.ReadCommit(r)
	if err := r.Err(); err != nil {
		return err
	}
	for i := range parts {
		scope, ok := scopeOf(parts[i].Scope)
		if !ok {
			return fmt.Errorf("%w: scope %d", bfrops.ErrMalformed, parts[i].Scope)
		}
		for _, pair := range parts[i].Pairs {
			if err := s.engine.Commit(c.rank, scope, pair.Key, pair.Packed); err != nil {
				return err
			}
		}
	}
	s.status(c, tag, message.Success)
	s.engine.Committed(s.now, c.rank)
	return nil
}

func scopeOf(scope uint8) (pmi.Scope, bool) {
	switch scope {
	case message.ScopeNode:
		return pmi.ScopeNode, true
	case message.ScopeRemote:
		return pmi.ScopeRemote, true
	case message.ScopeGlobal:
		return pmi.ScopeGlobal, true
	}
	return 0, false
}

// collective adds a rank to a fence, or to a connect or disconnect of processes.
func (c *conn) collective(s *Server, tag uint32, command message.Command, r *bfrops.Reader) error {
	m := message.ReadCollective(r)
	return c.join(s, tag, &m, r, func(procs []pmi.Proc) error {
		switch {
		case command == message.Fence && s.engine.WholeJob(procs):
			return s.engine.CollectIn(c.rank, pmi.Tag(tag), m.Infos.True(message.KeyCollect))
		case command == message.Fence:
			return s.engine.GroupIn(c.rank, pmi.Tag(tag), pmi.GroupFence, procs)
		case command == message.Connect:
			return s.engine.GroupIn(c.rank, pmi.Tag(tag), pmi.GroupConnect, procs)
		default:
			return s.engine.GroupIn(c.rank, pmi.Tag(tag), pmi.GroupDisconnect, procs)
		}
	})
}

// group adds a rank to the construct or destruct of a group. It gets the processes of the group
// from the client in both.
func (c *conn) group(s *Server, tag uint32, kind pmi.GroupKind, r *bfrops.Reader) error {
	m := message.ReadGroup(r)
	return c.join(s, tag, &m.Collective, r, func(procs []pmi.Proc) error {
		return s.engine.NamedGroupIn(c.rank, pmi.Tag(tag), kind, m.Name, procs)
	})
}

// join adds a rank to a collective of the processes that the message, which was read from r, names.
// The client gets errors as the status of the reply.
func (c *conn) join(s *Server, tag uint32, m *message.Collective, r *bfrops.Reader, enter func([]pmi.Proc) error) error {
	if err := r.Err(); err != nil {
		return err
	}
	procs, ok := s.procs(m.Procs)
	if !ok || len(procs) == 0 {
		s.status(c, tag, message.ErrBadParam)
		return nil
	}
	err := enter(procs)
	if errors.Is(err, pmi.ErrMalformed) {
		s.status(c, tag, message.ErrBadParam)
		return nil
	}
	return err
}

// seconds reads a time-out; 0: none.
func seconds(v *bfrops.Value) time.Duration {
	const maxNumber = 1 << 31 // of any number that a library sends
	if v == nil || v.Number > maxNumber {
		return 0
	}
	return time.Duration(v.Number) * time.Second
}

func (c *conn) get(s *Server, tag uint32, r *bfrops.Reader) error {
	m := message.ReadGet(r)
	if err := r.Err(); err != nil {
		return err
	}
	p, ok := s.proc(m.Proc)
	if !ok {
		s.status(c, tag, message.ErrNotFound)
		return nil
	}
	if p.Rank < 0 || strings.HasPrefix(m.Key, reservedPrefix) {
		if m.Key == message.KeyHardware && p.Job == s.config.Job {
			c.hardware(s, tag, m.Proc)
			return nil
		}
		return c.getJob(s, tag, p.Job)
	}
	outcome, err := s.engine.Fetch(s.now, c.rank, pmi.Fetch{
		Tag: pmi.Tag(tag), Job: p.Job, Of: p.Rank, Key: m.Key,
		Immediate: m.Infos.True(message.KeyImmediate),
		Timeout:   seconds(m.Infos.Find(message.KeyTimeout)),
	})
	if err != nil || outcome == pmi.Held {
		return err
	}
	if outcome != pmi.Found {
		s.status(c, tag, message.ErrNotFound)
		return nil
	}
	c.card(s, tag, m.Proc, s.engine.Card(p.Rank))
	return nil
}

// hardware replies with the description of the node's hardware. Open MPI alone asks for it, and a
// host of many CPUs has a long one, so it is not among what all clients get at their start.
func (c *conn) hardware(s *Server, tag uint32, job bfrops.Proc) {
	text := bfrops.NewString(s.config.Hardware())
	if text.Text == "" {
		s.status(c, tag, message.ErrNotFound)
		return
	}
	w := s.writer(c)
	message.WriteCard(w, job, []message.Pair{{Key: message.KeyHardware, Packed: message.Pack(&text)}})
	s.send(c, tag, w)
}

// reservedPrefix begins the keys that the system sets, not programs.
const reservedPrefix = "pmix."

func (c *conn) card(s *Server, tag uint32, of bfrops.Proc, kvs []pmi.KV) {
	pairs := make([]message.Pair, len(kvs))
	for i, kv := range kvs {
		pairs[i] = message.Pair{Key: kv.Key, Packed: kv.Value}
	}
	w := s.writer(c)
	message.WriteCard(w, of, pairs)
	s.send(c, tag, w)
}

// getJob replies with what the system knows about a whole job and its ranks. For the client's own
// job it replies ErrNotFound, since the client got everything at its start.
func (c *conn) getJob(s *Server, tag uint32, job uint64) error {
	if job == s.config.Job {
		s.status(c, tag, message.ErrNotFound)
		return nil
	}
	outcome, err := s.engine.AskPlaces(c.rank, pmi.Tag(tag), job)
	if err != nil || outcome == pmi.Held {
		return err
	}
	c.otherJob(s, tag, job)
	return nil
}

// otherJob replies to a client's question about another job.
func (c *conn) otherJob(s *Server, tag uint32, job uint64) {
	places, ok := s.engine.Places(job)
	if !ok {
		s.status(c, tag, message.ErrNotFound)
		return
	}
	w := s.writer(c)
	message.WriteForeignJob(w, &message.Job{
		Namespace: s.config.NameOf(job), NodeNames: places.NodeNames, RankNode: places.RankNode, Version: Version,
	})
	s.send(c, tag, w)
}

func (c *conn) finalize(s *Server, tag uint32) error {
	if err := s.engine.Finalize(c.rank); err != nil {
		return err
	}
	s.status(c, tag, message.Success)
	return nil
}
