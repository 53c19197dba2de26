package pmix

import (
	"errors"
	"fmt"
	"score/nodeagent/pmi"
	"score/nodeagent/pmi/pmix/bfrops"
	"score/nodeagent/pmi/pmix/message"
	"strconv"
	"strings"
	"time"
)

// Config is what the server must know besides the engine.
type Config struct {
	// Job is the number of the job; other jobs are named alike, by NameOf.
	Job uint64
	// NameOf is a job's name as a namespace, and NumberOf its inverse.
	NameOf   func(job uint64) string
	NumberOf func(namespace string) (job uint64, ok bool)
	// NodeNames, RankNode, RankApp and UniverseSize are as in message.Job.
	NodeNames    []string
	RankNode     []int32
	RankApp      []int32
	UniverseSize int
	// Parent is the job that spawned this one, 0: none.
	Parent uint64
	// SessionDir is where programs keep this run's files.
	SessionDir string
}

// Version is the version of the library whose server this one behaves as.
const Version = "4.2.2"

// Server speaks with all ranks of one job on one node.
type Server struct {
	engine *pmi.Engine
	config Config
	conns  map[ConnID]*conn
	lastID ConnID
	// ranks are the connections of the admitted ranks, by slot.
	ranks []*conn
	// hello counts the connections that are not admitted yet.
	hello int
	// pending counts the bytes of messages that have not come whole.
	pending  int
	cleanups int
	// jobsEnded are those that this one spawned and that have left, the latest last.
	jobsEnded []uint64
	// lookups are those that ask for several names, by the tag of the engine.
	lookups map[lookupKey]*lookup
	// info is the answer to a rank's first request, per encoding.
	info map[bfrops.Encoding][]byte

	now     time.Time
	effects []Effect
	out     []byte
	ended   bool
}

// NewServer returns the server over an engine. Both are for one goroutine at a
// time.
func NewServer(engine *pmi.Engine, config Config) *Server {
	return &Server{
		engine:  engine,
		config:  config,
		conns:   make(map[ConnID]*conn),
		ranks:   make([]*conn, len(engine.LocalRanks())),
		lookups: make(map[lookupKey]*lookup),
		info:    make(map[bfrops.Encoding][]byte),
	}
}

// Engine returns the engine, for questions.
func (s *Server) Engine() *pmi.Engine { return s.engine }

// Namespace returns the name of the job.
func (s *Server) Namespace() string { return s.config.NameOf(s.config.Job) }

// Conn returns the connection of a rank of this node; ok is false without one.
func (s *Server) Conn(rank int) (id ConnID, ok bool) {
	slot, ok := s.engine.Slot(rank)
	if !ok || s.ranks[slot] == nil {
		return 0, false
	}
	return s.ranks[slot].id, true
}

// Accept takes a new connection. ok is false when there are too many; the caller
// closes it.
func (s *Server) Accept() (id ConnID, ok bool) {
	if s.hello == MaxConns {
		return 0, false
	}
	s.hello++
	s.lastID++
	s.conns[s.lastID] = &conn{id: s.lastID, rank: NoRank}
	return s.lastID, true
}

// Feed takes bytes that a connection has sent, in pieces of any size; they are
// not kept. The effects are for any rank, and valid until the next call.
func (s *Server) Feed(now time.Time, id ConnID, data []byte) []Effect {
	s.begin(now)
	c := s.conns[id]
	if s.ended || c == nil {
		return nil
	}
	if c.closing {
		s.disconnect(c)
		return s.effects
	}
	err := c.feed(s, data)
	s.deliver()
	switch {
	case err == nil:
	case c.rank == NoRank:
		s.refuse(c, message.ErrBadParam) // nobody knows whose it is
	default:
		s.violate(c, err)
	}
	return s.effects
}

// OnDisconnected takes the end of a connection. It returns the rank that used it, with ok false if
// there was none, and the phase of the rank.
func (s *Server) OnDisconnected(now time.Time, id ConnID) (rank int, phase pmi.Phase, ok bool, effects []Effect) {
	s.begin(now)
	c := s.conns[id]
	if c == nil {
		return NoRank, 0, false, nil
	}
	s.drop(c)
	if c.rank == NoRank {
		return NoRank, 0, false, nil
	}
	slot, _ := s.engine.Slot(c.rank)
	s.ranks[slot] = nil
	phase, err := s.engine.OnDisconnected(c.rank)
	s.deliver()
	if err != nil && phase != pmi.PhaseActive && !s.ended {
		s.violate(nil, err)
	}
	return c.rank, phase, true, s.effects
}

// OnNeverConnected notes that a rank will not come any more, though it never connected.
func (s *Server) OnNeverConnected(now time.Time, rank int) []Effect {
	s.begin(now)
	if slot, ok := s.engine.Slot(rank); !ok || s.ranks[slot] != nil {
		return nil
	}
	if _, err := s.engine.OnDisconnected(rank); err != nil && !s.ended {
		s.violate(nil, err)
	}
	s.deliver()
	return s.effects
}

func (s *Server) drop(c *conn) {
	delete(s.conns, c.id)
	s.pending -= len(c.rest)
	c.rest = nil
	if c.rank == NoRank {
		s.hello--
	}
	for key := range s.lookups {
		if key.conn == c.id {
			delete(s.lookups, key)
		}
	}
}

// Do lets the server around it drive the engine: f calls it, and what follows is
// carried out. The error of f ends the job.
func (s *Server) Do(now time.Time, f func(*pmi.Engine) error) []Effect {
	s.begin(now)
	if s.ended {
		return nil
	}
	err := f(s.engine)
	s.deliver()
	if err != nil {
		s.violate(nil, err)
	}
	return s.effects
}

// Deadline returns when Tick must be called next; zero: never.
func (s *Server) Deadline() time.Time { return s.engine.Deadline() }

// Tick ends waits that have lasted long enough.
func (s *Server) Tick(now time.Time) []Effect {
	return s.Do(now, func(e *pmi.Engine) error {
		e.Tick(now)
		return nil
	})
}

// Environ appends the variables through which a rank finds this server at a
// loopback port. node is the name of the node as in NodeNames.
func (s *Server) Environ(dst []string, rank, port int, node string) []string {
	at := fmt.Sprintf("score.%d;tcp4://127.0.0.1:%d", s.config.Job, port)
	return append(dst,
		"PMIX_NAMESPACE="+s.Namespace(),
		"PMIX_RANK="+strconv.Itoa(rank),
		"PMIX_SERVER_URI41="+at,
		"PMIX_SERVER_URI4="+at,
		"PMIX_SERVER_URI3="+at,
		"PMIX_SECURITY_MODE="+security,
		"PMIX_GDS_MODULE=hash",
		"PMIX_MCA_gds=hash", // the library need not make the others ready
		"PMIX_BFROP_BUFFER_TYPE=PMIX_BFROP_BUFFER_NON_DESC",
		"PMIX_VERSION="+Version,
		"PMIX_HOSTNAME="+node,
	)
}

func (s *Server) begin(now time.Time) {
	clear(s.effects)
	s.now, s.effects, s.out = now, s.effects[:0], s.out[:0]
	if cap(s.out) > keepOut {
		s.out = nil
	}
}

// keepOut is the largest buffer for replies that is kept, in bytes.
const keepOut = 1 << 20

func (s *Server) effect(e Effect) { s.effects = append(s.effects, e) }

// errReplies is the end of a job whose ranks ask for more than can be answered.
var errReplies = errors.New("the answers to one request are too large")

// violate ends the job for what a client did, or another node.
func (s *Server) violate(c *conn, err error) {
	if s.ended {
		return
	}
	s.ended = true
	rank := NoRank
	if c != nil && c.rank != NoRank {
		rank = c.rank
		err = fmt.Errorf("rank %d: %w", rank, err)
	}
	s.effect(Effect{Kind: Violation, Rank: rank, Err: err})
}

// writer returns a writer for a message to a client; send sends it.
func (s *Server) writer(c *conn) *bfrops.Writer {
	return bfrops.NewWriter(c.encoding, nil)
}

// send sends a message. Should out move to a larger array later, the old one
// keeps the bytes.
func (s *Server) send(c *conn, tag uint32, w *bfrops.Writer) {
	if c.closing {
		return
	}
	if len(s.out)+len(w.Bytes()) > MaxReplies {
		s.violate(c, fmt.Errorf("%w: more than %d bytes", errReplies, MaxReplies))
		return
	}
	start := len(s.out)
	s.out = message.Header{Peer: c.peer(), Tag: tag, Length: uint32(len(w.Bytes()))}.Append(s.out)
	s.out = append(s.out, w.Bytes()...)
	s.effect(Effect{Kind: Write, Conn: c.id, Bytes: s.out[start:len(s.out):len(s.out)]})
}

func (s *Server) status(c *conn, tag uint32, code int32) {
	w := s.writer(c)
	message.WriteStatus(w, code)
	s.send(c, tag, w)
}

// job returns what ranks get to know of this job.
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

// procs translates names of processes. ok is false for a namespace that is no
// job's, or a rank that cannot be.
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
