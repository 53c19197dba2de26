package match

import "math/bits"

// link puts its owner into a table under a key. Owners embed it.
type link[T any] struct {
	// prev and next join the links of one key, a queue in the order of insert. The prev of the
	// first is the last, the next of the last is nil.
	prev, next *link[T]
	chain      *link[T] // the next queue of the bucket; of the first of a queue only
	owner      *T
	tag        uint64
	source     uint32
}

// first reports whether l is the first of its queue.
func (l *link[T]) first() bool { return l.prev.next == nil }

// minBuckets is the size of a table at first: two cache lines of pointers, enough for a program
// that has a handful of receives posted.
const minBuckets = 16

// table finds the oldest link of a key. A bucket chains queues, one for each key, so links with
// equal keys cost a search for another key nothing. Zero is an empty table.
type table[T any] struct {
	buckets []*link[T] // a power of two, at least as many as keys
	shift   uint       // leaves as many bits of a hash as number the buckets
	keys    int        // queues
}

// hash spreads keys over 64 bits. Only the highest bits are used: the multiplications carry each
// bit of the tag and the source there.
func hash(source uint32, tag uint64) uint64 {
	const spread, golden = 0xd6e8feb86659fd93, 0x9e3779b97f4a7c15 // odd, half of their bits set
	return (tag ^ uint64(source)*spread) * golden
}

// bucket returns the head of the chain on which a key belongs.
func (t *table[T]) bucket(source uint32, tag uint64) **link[T] {
	return &t.buckets[hash(source, tag)>>(t.shift&63)]
}

// find returns the oldest link of a key, nil if there is none. The table is not empty.
func (t *table[T]) find(source uint32, tag uint64) *link[T] {
	l := *t.bucket(source, tag)
	for l != nil && (l.tag != tag || l.source != source) {
		l = l.chain
	}
	return l
}

// insert puts l, which is in no table, behind the others of its key.
func (t *table[T]) insert(l *link[T], owner *T, source uint32, tag uint64) {
	l.owner, l.source, l.tag = owner, source, tag
	if t.keys == len(t.buckets) {
		t.grow()
	}
	b := t.bucket(source, tag)
	for first := *b; first != nil; first = first.chain {
		if first.tag == tag && first.source == source {
			last := first.prev
			last.next, l.prev, first.prev = l, last, l
			return
		}
	}
	l.prev, l.chain, *b = l, *b, l
	t.keys++
}

// remove takes l, which is in t, out and leaves it zero.
func (t *table[T]) remove(l *link[T]) {
	switch {
	case l.first():
		t.removeFirst(l)
	case l.next == nil:
		t.find(l.source, l.tag).prev = l.prev
		l.prev.next = nil
	default:
		l.prev.next, l.next.prev = l.next, l.prev
	}
	*l = link[T]{}
}

// removeFirst puts the second of a queue in the place of the first, or takes the queue away.
func (t *table[T]) removeFirst(l *link[T]) {
	at := t.bucket(l.source, l.tag)
	for *at != l {
		at = &(*at).chain
	}
	second := l.next
	if second == nil {
		*at = l.chain
		t.keys--
		return
	}
	second.prev, second.chain = l.prev, l.chain // it is its own prev if it is the last
	*at = second
}

// grow doubles the buckets, so a key is moved twice on average, however many there come to be.
func (t *table[T]) grow() {
	old := t.buckets
	n := max(minBuckets, 2*len(old))
	t.buckets = make([]*link[T], n)
	t.shift = uint(64 - bits.Len(uint(n-1)))
	for _, l := range old {
		for l != nil {
			next := l.chain
			b := t.bucket(l.source, l.tag)
			l.chain, *b = *b, l
			l = next
		}
	}
}
