package pmi

import (
	"errors"
	"fmt"
	"score/nodeagent/pmi/kvpack"
	"score/nodeagent/pmi/leb128"
)

// exchange reads the data of all nodes into the engine. The data is not trusted: every number is
// checked against the job and against the number of bytes left.
type exchange struct {
	engine *Engine
	text   string
	seen   []bool
	rings  []Ring
}

func badExchange(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrExchange, fmt.Sprintf(format, args...))
}

// decode reads the blocks of all nodes.
func (x *exchange) decode() error {
	e := x.engine
	x.seen = make([]bool, e.nodes)
	if e.fence.kind == kindRing {
		x.rings = make([]Ring, e.Size())
	}
	blocks := 0
	for r := newReader(x.text); r.Left() > 0; blocks++ {
		block := newReader(r.Chunk(r.Number()))
		if r.Bad() {
			return badExchange("a block is cut off")
		}
		if err := x.block(&block); err != nil {
			return err
		}
	}
	if blocks != e.nodes {
		return badExchange("data of %d nodes, the job has %d", blocks, e.nodes)
	}
	return nil
}

func (x *exchange) block(r *reader) error {
	e := x.engine
	version, kind := r.Number(), blockKind(r.Number())
	job, node, seq := r.Number(), r.Number(), r.Number()
	switch {
	case r.Bad() || version != blockVersion:
		return badExchange("a block of version %d, this is %d; all nodes need the same version of score", version, blockVersion)
	case job != e.info.Job:
		return badExchange("a block of job %d in job %d", job, e.info.Job)
	case node >= uint64(e.nodes):
		return badExchange("a block of node %d, the job has %d", node, e.nodes)
	case x.seen[node]:
		return badExchange("two blocks of node %d", node)
	case seq != e.fence.seq:
		return badExchange("node %d is in fence %d, this node in %d", node, seq, e.fence.seq)
	case kind != e.fence.kind:
		return badExchange("node %d is in %s, this node in %s: the ranks do not call the same collectives", node, kind, e.fence.kind)
	}
	x.seen[node] = true
	if kind == kindRing {
		x.readRings(r, int32(node))
	} else if !x.readSets(r.Chunk(uint64(r.Left())), int32(node)) {
		r.Fail()
	}
	if r.Bad() || r.Left() > 0 {
		return badExchange("the block of node %d contradicts itself", node)
	}
	return nil
}

// errSets means that keys and values of a block are impossible.
var errSets = errors.New("pmi: impossible key sets")

// readSets reads the key sets of a node's ranks and commits them.
func (x *exchange) readSets(text string, node int32) bool {
	if text == "" {
		return true
	}
	e := x.engine
	limits := kvpack.Limits{Ranks: e.Size(), Key: x.maxKey(), Value: x.maxValue()}
	return kvpack.Read(text, limits, func(rank int, key, value string) error {
		if e.info.RankNode[rank] != node || e.store.bytes > MaxJobBytes {
			return errSets
		}
		x.publish(int32(rank), key, value)
		return nil
	}) == nil
}

// publish makes a value visible. It ignores values that ranks of this node have committed by scope:
// they are visible already.
func (x *exchange) publish(rank int32, key, value string) {
	e := x.engine
	switch {
	case e.fence.kind != kindCards:
		e.store.commit(rank, key, value, e.fence.seq)
	case int(e.info.RankNode[rank]) != e.info.NodeIndex:
		e.store.commitScoped(rank, ScopeRemote, key, value)
	}
}

func (x *exchange) maxKey() int {
	if x.engine.fence.kind == kindCards {
		return MaxCardKey
	}
	return MaxKey
}

func (x *exchange) maxValue() int {
	if x.engine.fence.kind == kindCards {
		return MaxRankBytes
	}
	return MaxValue
}

func (x *exchange) readRings(r *reader, node int32) {
	next := uint64(0)
	for range r.Count(4) {
		rank, ok := x.rankOf(r, &next, node)
		if !ok {
			return
		}
		ring := &x.rings[rank]
		ring.Count = r.Signed()
		ring.Left = r.Chunk(r.Number())
		ring.Right = r.Chunk(r.Number())
		if len(ring.Left) > MaxValue || len(ring.Right) > MaxValue {
			r.Fail()
		}
	}
}

// rankOf reads a rank, which must run on the node that sent the block.
func (x *exchange) rankOf(r *reader, next *uint64, node int32) (int32, bool) {
	rank := r.Number()
	size := uint64(x.engine.Size())
	if r.Bad() || rank >= size || *next+rank >= size || x.engine.info.RankNode[*next+rank] != node {
		r.Fail()
		return 0, false
	}
	rank += *next
	*next = rank + 1
	return int32(rank), true
}

// reader reads the data of other nodes' engines.
type reader struct{ leb128.Reader }

func newReader(text string) reader { return reader{leb128.NewReader(text)} }
