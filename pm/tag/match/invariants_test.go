package match

import "fmt"

// checkInvariants returns what is wrong with m, nil if nothing is.
func checkInvariants(m *Matcher) error {
	for r := range m.AllPosted() {
		for u := range m.AllHeld() {
			if r.matches(u.Source, u.Tag) {
				return fmt.Errorf("a posted receive %+v matches a held message from %d with tag %#x", r.Criteria, u.Source, u.Tag)
			}
		}
	}
	if err := checkPosted(&m.posted); err != nil {
		return fmt.Errorf("posted: %w", err)
	}
	if err := checkHeld(&m.held); err != nil {
		return fmt.Errorf("held: %w", err)
	}
	return nil
}

// checkPosted checks that the receives up to passed, and no others, are indexed where they belong.
func checkPosted(p *posted) error {
	if err := checkList(&p.list); err != nil {
		return err
	}
	var order uint64
	indexed, further := p.passed != nil, 0
	perClass := make([]int, len(p.classes))
	for e := p.list.head; e != nil; e = e.next {
		r := e.owner
		if r.order <= order {
			return fmt.Errorf("order %d comes after %d", r.order, order)
		}
		order = r.order
		switch {
		case indexed != (r.indexed != notIndexed):
			return fmt.Errorf("receive %d is passed over: %v, but indexed: %d", r.order, indexed, r.indexed)
		case r.indexed == inFurther:
			further++
		case r.indexed != notIndexed:
			perClass[r.indexed-1]++
			if c := &p.classes[r.indexed-1]; c.ignore != r.Ignore || c.named != (r.Source != AnySource) {
				return fmt.Errorf("receive %d is in the class of another mask", r.order)
			}
		}
		indexed = indexed && e != p.passed
	}
	if indexed {
		return fmt.Errorf("the last receive passed over is not posted")
	}
	if further != p.further.len {
		return fmt.Errorf("%d receives are in no class, %d in further", further, p.further.len)
	}
	if err := checkList(&p.further); err != nil {
		return err
	}
	return checkClasses(p.classes, postedClasses, perClass, func(r *Recv) uint64 { return r.order })
}

// checkHeld checks that in each class the messages up to passed, and no others, are indexed.
func checkHeld(h *held) error {
	if err := checkList(&h.list); err != nil {
		return err
	}
	places := map[*Message]uint64{}
	for e := h.list.head; e != nil; e = e.next {
		places[e.owner] = uint64(len(places) + 1)
	}
	perClass := make([]int, len(h.classes))
	for i := range h.classes {
		indexed := h.passed[i] != nil
		for e := h.list.head; e != nil; e = e.next {
			if indexed != (e.owner.indexed&(1<<i) != 0) {
				return fmt.Errorf("message %d is passed over by class %d: %v, but indexed: %b", places[e.owner], i, indexed, e.owner.indexed)
			}
			if indexed {
				perClass[i]++
			}
			indexed = indexed && e != h.passed[i]
		}
		if indexed {
			return fmt.Errorf("the last message passed over by class %d is not held", i)
		}
	}
	return checkClasses(h.classes, heldClasses, perClass, func(u *Message) uint64 { return places[u] })
}

// checkList checks links and length.
func checkList[T any](l *list[T]) error {
	n := 0
	var last *element[T]
	for e := l.head; e != nil; e = e.next {
		n++
		if e.prev != last || e.list != l || e.owner == nil {
			return fmt.Errorf("element %d is badly linked", n)
		}
		last = e
	}
	if l.tail != last || l.len != n {
		return fmt.Errorf("the list has %d elements, it counts %d", n, l.len)
	}
	return nil
}

// checkClasses checks that there are no two alike, and their tables.
func checkClasses[T any](cs classes[T], limit int, links []int, order func(*T) uint64) error {
	if len(cs) > limit {
		return fmt.Errorf("%d classes", len(cs))
	}
	for i := range cs {
		for j := range cs[:i] {
			if cs[i].ignore == cs[j].ignore && cs[i].named == cs[j].named {
				return fmt.Errorf("classes %d and %d are alike", j, i)
			}
		}
		if err := checkTable(&cs[i].table, links[i], order); err != nil {
			return fmt.Errorf("class %d: %w", i, err)
		}
	}
	return nil
}

// checkTable checks that t has so many links, each in its bucket and behind older ones of its key.
func checkTable[T any](t *table[T], links int, order func(*T) uint64) error {
	keys := 0
	for i := range t.buckets {
		for first := t.buckets[i]; first != nil; first = first.chain {
			keys++
			if t.find(first.source, first.tag) != first {
				return fmt.Errorf("key %d %#x is not found", first.source, first.tag)
			}
			n, err := checkQueue(first, order)
			if err != nil {
				return err
			}
			links -= n
		}
	}
	if links != 0 || keys != t.keys || keys > len(t.buckets) {
		return fmt.Errorf("%d links too few; %d keys, counted %d, in %d buckets", links, keys, t.keys, len(t.buckets))
	}
	return nil
}

// checkQueue checks the queue of one key and returns its length.
func checkQueue[T any](first *link[T], order func(*T) uint64) (int, error) {
	n := 0
	last := first
	for l := first; l != nil; l = l.next {
		n++
		if l != first {
			switch {
			case l.prev != last, l.chain != nil, l.first():
				return n, fmt.Errorf("link %d of key %d %#x is badly linked", n, l.source, l.tag)
			case l.source != first.source || l.tag != first.tag:
				return n, fmt.Errorf("key %d %#x is in the queue of %d %#x", l.source, l.tag, first.source, first.tag)
			case order(l.owner) <= order(last.owner):
				return n, fmt.Errorf("key %d %#x is out of order", l.source, l.tag)
			}
		}
		last = l
	}
	if first.prev != last {
		return n, fmt.Errorf("key %d %#x has lost its last link", first.source, first.tag)
	}
	return n, nil
}
