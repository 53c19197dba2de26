package pmi

import (
	"encoding/binary"
	"errors"
	"fmt"

	"score/nodeagent/pmi/cards"
)

// exchange reads the data of all nodes into the engine. Nothing in it is
// trusted: every number is checked against the job and against what is left.
type exchange struct {
	engine *Engine
	text   string
	seen   []bool
	rings  []Ring
}

func badExchange(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrExchange, fmt.Sprintf(format, args...))
}

// decode reads one block of every node.
func (x *exchange) decode() error {
	e := x.engine
	x.seen = make([]bool, e.nodes)
	if e.fence.kind == kindRing {
		x.rings = make([]Ring, e.Size())
	}
	blocks := 0
	for r := (reader{text: x.text}); r.left() > 0; blocks++ {
		block := reader{text: r.chunk(r.number())}
		if r.bad {
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
	version, kind := r.number(), blockKind(r.number())
	job, node, seq := r.number(), r.number(), r.number()
	switch {
	case r.bad || version != blockVersion:
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
	} else if !x.readSets(r.chunk(uint64(r.left())), int32(node)) {
		r.bad = true
	}
	if r.bad || r.left() > 0 {
		return badExchange("the block of node %d contradicts itself", node)
	}
	return nil
}

// errSets says that a block's keys and values cannot be.
var errSets = errors.New("pmi: key sets that cannot be")

// readSets reads the key sets of a node's ranks and commits them.
func (x *exchange) readSets(text string, node int32) bool {
	if text == "" {
		return true
	}
	e := x.engine
	limits := cards.Limits{Ranks: e.Size(), Key: x.maxKey(), Value: x.maxValue()}
	return cards.Read(text, limits, func(rank int, key, value string) error {
		if e.info.RankNode[rank] != node || e.store.bytes > MaxJobBytes {
			return errSets
		}
		x.keep(int32(rank), key, value)
		return nil
	}) == nil
}

// keep makes a value visible. What ranks of this node have committed by scope is
// here already.
func (x *exchange) keep(rank int32, key, value string) {
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
	for range r.count(4) {
		rank, ok := x.rankOf(r, &next, node)
		if !ok {
			return
		}
		ring := &x.rings[rank]
		ring.Count = r.signed()
		ring.Left = r.chunk(r.number())
		ring.Right = r.chunk(r.number())
		if len(ring.Left) > MaxValue || len(ring.Right) > MaxValue {
			r.bad = true
		}
	}
}

// rankOf reads a rank, which must live on the node that speaks for it.
func (x *exchange) rankOf(r *reader, next *uint64, node int32) (int32, bool) {
	rank := r.number()
	size := uint64(x.engine.Size())
	if r.bad || rank >= size || *next+rank >= size || x.engine.info.RankNode[*next+rank] != node {
		r.bad = true
		return 0, false
	}
	rank += *next
	*next = rank + 1
	return int32(rank), true
}

// reader takes numbers and pieces off a text. After the first mistake bad is
// set and it gives zeros, so one check after several reads is enough.
type reader struct {
	text string
	bad  bool
}

func (r *reader) left() int { return len(r.text) }

func (r *reader) fail() uint64 {
	r.bad, r.text = true, ""
	return 0
}

// number reads an unsigned LEB128 number.
func (r *reader) number() uint64 {
	var n uint64
	for i := range min(len(r.text), binary.MaxVarintLen64) {
		c := r.text[i]
		if i == binary.MaxVarintLen64-1 && c > 1 {
			break
		}
		n |= uint64(c&0x7f) << (7 * i)
		if c < 0x80 {
			r.text = r.text[i+1:]
			return n
		}
	}
	return r.fail()
}

func (r *reader) signed() int64 {
	n := r.number()
	return int64(n>>1) ^ -int64(n&1)
}

// count reads how many things follow that take at least size bytes each.
func (r *reader) count(size int) int {
	n := r.number()
	if n > uint64(len(r.text)/size) {
		return int(r.fail())
	}
	return int(n)
}

func (r *reader) chunk(n uint64) string {
	if n > uint64(len(r.text)) {
		r.fail()
		return ""
	}
	piece := r.text[:n]
	r.text = r.text[n:]
	return piece
}
