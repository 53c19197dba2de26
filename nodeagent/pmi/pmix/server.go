package pmix

import (
	"fmt"
	"score/nodeagent/pmi"
	"score/nodeagent/pmi/pmix/bfrops"
	"score/nodeagent/pmi/pmix/message"
	"strconv"
	"time"
)

// Config is what a server must know of its job.
type Config struct {
	// Job is the number of the job.
	Job uint64
	// NameOf returns a job's namespace. NumberOf is its inverse.
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
	// Hardware returns the text of hwloc's description of the node's hardware; empty: there is
	// none.
	Hardware func() string
}

// Version is the version of libpmix as whose server this one behaves.
const Version = "4.2.2"

// Server serves all ranks of one job on one node.
type Server struct {
	engine *pmi.Engine
	config Config
	conns  map[ConnID]*conn
	lastID ConnID
	// ranks are the connections of the admitted ranks, by slot.
	ranks []*conn
	// hello counts the connections that are not yet admitted.
	hello int
	// pending counts the bytes of incomplete messages.
	pending  int
	cleanups int
	// jobsEnded lists the ended jobs that this job spawned, the latest last.
	jobsEnded []uint64
	// lookups are the requests for names that are not yet answered.
	lookups map[lookupKey]*lookup
	// wider holds lookups that found nothing among the names of the job, until the end of deliver.
	wider []widerLookup
	// ports are those of spawned jobs, the newest last.
	ports []port
	// info is the reply to a rank's first request, by encoding.
	info map[bfrops.Encoding][]byte

	now     time.Time
	effects []Effect
	out     []byte
	ended   bool
}

// NewServer returns a server over an engine. Only one goroutine at a time may use them.
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

// Engine returns the engine, to read its state.
func (s *Server) Engine() *pmi.Engine { return s.engine }

// Namespace returns the namespace of the job.
func (s *Server) Namespace() string { return s.config.NameOf(s.config.Job) }

// Conn returns the connection of a rank of this node. ok is false if the rank has none.
func (s *Server) Conn(rank int) (id ConnID, ok bool) {
	slot, ok := s.engine.Slot(rank)
	if !ok || s.ranks[slot] == nil {
		return 0, false
	}
	return s.ranks[slot].id, true
}

// RankOf returns the rank of a connection; NoRank if it is not admitted.
func (s *Server) RankOf(id ConnID) int {
	if c := s.conns[id]; c != nil {
		return c.rank
	}
	return NoRank
}

// Accept adds a new connection. ok is false if there are too many; then the caller closes it.
func (s *Server) Accept() (id ConnID, ok bool) {
	if s.hello == MaxConns {
		return 0, false
	}
	s.hello++
	s.lastID++
	s.conns[s.lastID] = &conn{id: s.lastID, rank: NoRank}
	return s.lastID, true
}

// Feed handles the bytes that a connection has sent, in pieces of any size. It does not keep data.
// The effects may concern any rank, and are valid until the next call.
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

// OnDisconnected handles the end of a connection. It returns the rank that used it and the rank's
// phase; ok is false if there was no rank.
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

// OnNeverConnected handles the end of a rank that never connected.
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

// Do lets f call the engine, and returns the effects that follow. An error of f ends the job.
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

// Tick ends the waits that have timed out.
func (s *Server) Tick(now time.Time) []Effect {
	return s.Do(now, func(e *pmi.Engine) error {
		e.Tick(now)
		return nil
	})
}

// Environ appends the variables with which a rank finds this server at a loopback port. node is the
// node's name in NodeNames. OMPI_COMM_WORLD_RANK and the like are those of Open MPI's mpirun:
// scripts read them to choose a device, programs before MPI_Init.
func (s *Server) Environ(dst []string, rank, port int, node string) []string {
	at := fmt.Sprintf("score.%d;tcp4://127.0.0.1:%d", s.config.Job, port)
	if slot, ok := s.engine.Slot(rank); ok {
		local := strconv.Itoa(slot)
		dst = append(dst,
			"OMPI_COMM_WORLD_SIZE="+strconv.Itoa(s.engine.Size()),
			"OMPI_COMM_WORLD_RANK="+strconv.Itoa(rank),
			"OMPI_COMM_WORLD_LOCAL_SIZE="+strconv.Itoa(len(s.engine.LocalRanks())),
			"OMPI_COMM_WORLD_LOCAL_RANK="+local,
			"OMPI_COMM_WORLD_NODE_RANK="+local,
		)
	}
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
