package pmix

import (
	"encoding/base64"
	"score/nodeagent/pmi"
	"score/nodeagent/pmi/pmix/bfrops"
	"score/nodeagent/pmi/pmix/message"
	"strconv"
	"strings"
)

// namePrefix begins the names of PMIx in the cluster's table. Programs of PMI-1 and PMI-2 use the
// table too; their ports are texts, but the ports of PMIx are values.
const namePrefix = "pmix/"

// lookupKey identifies a request of a client.
type lookupKey struct {
	conn ConnID
	tag  uint32
}

// lookup is a request to look up, publish or unpublish several names. It is answered when all parts
// are.
type lookup struct {
	command message.Command
	// left counts the parts that are not yet answered; refused is whether one would have exceeded
	// a limit.
	left    int
	found   []message.Found
	failed  int
	refused bool
}

// maxKeys bounds the names of one request; MPI programs use one.
const maxKeys = 256

// nameOf returns the name of a key in the cluster's table. If the scope is within the job, the name
// has the job's number.
func (s *Server) nameOf(key string, scope uint64) string {
	if scope == message.RangeNamespace || scope == message.RangeNode || scope == message.RangeProcess {
		return namePrefix + strconv.FormatUint(s.config.Job, 10) + "/" + key
	}
	return namePrefix + "/" + key
}

func rangeOf(infos bfrops.Infos) uint64 {
	if v := infos.Find(message.KeyRange); v != nil {
		return v.Number
	}
	return message.RangeSession
}

// portOf encodes a value and its owner as the published text.
func portOf(owner bfrops.Proc, packed string) string {
	w := bfrops.NewWriter(bfrops.V41, nil)
	w.One(bfrops.NewProc(owner))
	w.Raw(packed)
	return base64.RawStdEncoding.EncodeToString(w.Bytes())
}

// ownerOf is the inverse of portOf.
func ownerOf(port string) (owner bfrops.Proc, packed string, ok bool) {
	data, err := base64.RawStdEncoding.DecodeString(port)
	if err != nil {
		return owner, "", false
	}
	r := bfrops.NewReader(bfrops.V41, data)
	r.Count(1)
	name := r.Plain(bfrops.ProcType)
	if r.Err() != nil {
		return owner, "", false
	}
	owner = bfrops.Proc{Namespace: name.Parts[0].Text, Rank: uint32(name.Parts[1].Number)}
	packed = string(data[len(data)-r.Left():])
	_, err = message.Unpack(packed)
	return owner, packed, err == nil
}

func (c *conn) publish(s *Server, tag uint32, r *bfrops.Reader) error {
	m := message.ReadPublish(r)
	if err := r.Err(); err != nil {
		return err
	}
	once := false
	if v := m.Infos.Find(message.KeyPersist); v != nil {
		once = v.Number == message.PersistFirstRead
	}
	owner := bfrops.Proc{Namespace: s.Namespace(), Rank: uint32(c.rank)}
	var ops []pmi.NameOp
	for i := range m.Infos {
		if info := &m.Infos[i]; !message.Described(info.Key) {
			ops = append(ops, pmi.NameOp{
				Kind: pmi.NamePublish, Service: s.nameOf(info.Key, rangeOf(m.Infos)),
				Port: portOf(owner, message.Pack(&info.Value)), Once: once,
			})
		}
	}
	return c.ask(s, tag, message.Publish, ops)
}

func (c *conn) lookup(s *Server, tag uint32, r *bfrops.Reader) error {
	m := message.ReadLookup(r)
	if err := r.Err(); err != nil {
		return err
	}
	wait := m.Infos.Find(message.KeyWait) != nil
	return c.askKeys(s, tag, message.Lookup, &m, pmi.NameOp{Kind: pmi.NameLookup, Wait: wait})
}

func (c *conn) unpublish(s *Server, tag uint32, r *bfrops.Reader) error {
	m := message.ReadLookup(r)
	if err := r.Err(); err != nil {
		return err
	}
	return c.askKeys(s, tag, message.Unpublish, &m, pmi.NameOp{Kind: pmi.NameUnpublish})
}

func (c *conn) askKeys(s *Server, tag uint32, command message.Command, m *message.LookupRequest, op pmi.NameOp) error {
	var ops []pmi.NameOp
	for _, key := range m.Keys {
		op.Service = s.nameOf(key, rangeOf(m.Infos))
		ops = append(ops, op)
	}
	return c.ask(s, tag, command, ops)
}

// ask passes the parts of a request to the engine.
func (c *conn) ask(s *Server, tag uint32, command message.Command, ops []pmi.NameOp) error {
	key := lookupKey{c.id, tag}
	if len(ops) == 0 || len(ops) > maxKeys || s.lookups[key] != nil {
		s.status(c, tag, message.ErrBadParam)
		return nil
	}
	s.lookups[key] = &lookup{command: command, left: len(ops)}
	for _, op := range ops {
		op.Wait = op.Wait && !s.awaitsNobody(op.Service)
		if err := s.engine.AskName(c.rank, pmi.Tag(tag), op); err != nil {
			return err
		}
	}
	return nil
}

// answerName handles the answer to one part, and answers the request after the last part.
func (s *Server) answerName(c *conn, event *pmi.Event) {
	key := lookupKey{c.id, uint32(event.Tag)}
	l := s.lookups[key]
	if l == nil || s.lookWider(c, event) {
		return
	}
	l.left--
	l.add(s, event)
	if l.left > 0 {
		return
	}
	delete(s.lookups, key)
	if len(l.found) == 0 {
		s.status(c, uint32(event.Tag), l.code())
		return
	}
	w := s.writer(c)
	message.WriteFound(w, l.code(), l.found)
	s.send(c, uint32(event.Tag), w)
}

// widerLookup is a lookup that found nothing among the job's own names.
type widerLookup struct {
	c     *conn
	event pmi.Event
}

// lookWider notes a lookup that found nothing among the job's own names, and reports whether event
// answers one. The range of a lookup says where its publisher may be, and ranks of the job publish
// for the session, too. Open MPI 5.0 gives a range that it has not set. A lookup that waits is for
// one name only (DESIGN.md of package pmi says why).
func (s *Server) lookWider(c *conn, event *pmi.Event) bool {
	service, own := event.Name.Service, s.nameOf("", message.RangeNamespace)
	if event.Name.Kind != pmi.NameLookup || event.OK || !strings.HasPrefix(service, own) {
		return false
	}
	w := widerLookup{c, *event}
	w.event.Name.Service = s.nameOf(service[len(own):], message.RangeSession)
	s.wider = append(s.wider, w)
	return true
}

// askWider asks for the names of the noted lookups, and reports whether there were any.
func (s *Server) askWider() bool {
	wider := s.wider
	s.wider = nil
	for i := range wider {
		w := &wider[i]
		if err := s.engine.AskName(w.c.rank, w.event.Tag, w.event.Name); err != nil {
			s.answerName(w.c, &w.event)
		}
	}
	return len(wider) > 0
}

func (l *lookup) add(s *Server, event *pmi.Event) {
	if !event.OK {
		l.failed++
		l.refused = l.refused || event.Value != ""
		return
	}
	if l.command != message.Lookup {
		return
	}
	owner, packed, ok := ownerOf(event.Value)
	if !ok {
		l.failed++
		return
	}
	l.found = append(l.found, message.Found{Owner: owner, Key: s.keyOf(event.Name.Service), Packed: packed})
}

// keyOf is the inverse of nameOf.
func (s *Server) keyOf(service string) string {
	for _, scope := range [...]uint64{message.RangeNamespace, message.RangeSession} {
		if prefix := s.nameOf("", scope); len(service) > len(prefix) && service[:len(prefix)] == prefix {
			return service[len(prefix):]
		}
	}
	return service
}

func (l *lookup) code() int32 {
	switch {
	case l.failed == 0:
		return message.Success
	case len(l.found) > 0:
		return message.ErrPartial
	case l.refused:
		return message.ErrNoResources
	case l.command == message.Publish:
		return message.ErrDuplicate
	}
	return message.ErrNotFound
}
