package match

// class holds links of criteria that differ only in source and tag, so that one look into a table
// finds a match.
type class[T any] struct {
	table[T]
	ignore uint64
	named  bool // criteria of the class name a source
}

// key returns the key under which criteria of the class that match a message are.
func (c *class[T]) key(source uint32, tag uint64) (uint32, uint64) {
	if !c.named {
		source = AnySource
	}
	return source, tag &^ c.ignore
}

// oldest returns the oldest owner whose criteria match a message; for messages, the oldest that
// criteria with this source and tag match.
func (c *class[T]) oldest(source uint32, tag uint64) *T {
	if c.keys == 0 {
		return nil
	}
	if l := c.find(c.key(source, tag)); l != nil {
		return l.owner
	}
	return nil
}

// add puts l behind the others of its key.
func (c *class[T]) add(l *link[T], owner *T, source uint32, tag uint64) {
	source, tag = c.key(source, tag)
	c.insert(l, owner, source, tag)
}

// classes are the classes in use, and those that were and are empty now. They keep their buckets.
type classes[T any] []class[T]

// none is the index of no class.
const none = -1

// of returns the index of the class of c. If there is none, an empty class becomes it, or a new
// one while there are fewer than limit; otherwise it returns none.
func (cs *classes[T]) of(c *Criteria, limit int) int {
	named, empty := c.Source != AnySource, none
	for i := range *cs {
		k := &(*cs)[i]
		if k.ignore == c.Ignore && k.named == named {
			return i
		}
		if k.keys == 0 && empty == none {
			empty = i
		}
	}
	if empty == none {
		if len(*cs) == limit {
			return none
		}
		empty = len(*cs)
		*cs = append(*cs, class[T]{})
	}
	(*cs)[empty].ignore, (*cs)[empty].named = c.Ignore, named
	return empty
}
