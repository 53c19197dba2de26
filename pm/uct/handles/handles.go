// Package handles numbers what is under way, so that a peer's answer can name it. A peer may answer
// with any number: Get then returns nil, or something else that is under way, which the caller
// compares with who answered.
//
//	var t handles.Table[op]
//	id := t.Add(o)      // goes with the request
//	o = t.Get(id)       // the answer names it
//	t.Remove(id)        // the number is free for another
package handles

// Table holds values by number. Its zero value is empty. Number 0 is none.
type Table[T any] struct {
	values []*T
	free   []uint32
}

// Add returns the value's number.
func (t *Table[T]) Add(v *T) uint32 {
	if n := len(t.free); n > 0 {
		id := t.free[n-1]
		t.free = t.free[:n-1]
		t.values[id-1] = v
		return id
	}
	t.values = append(t.values, v)
	return uint32(len(t.values))
}

// Get returns the value of a number, or nil.
func (t *Table[T]) Get(id uint32) *T {
	if id == 0 || uint64(id) > uint64(len(t.values)) {
		return nil
	}
	return t.values[id-1]
}

// Remove frees a number that Add returned.
func (t *Table[T]) Remove(id uint32) {
	t.values[id-1] = nil
	t.free = append(t.free, id)
}

// Len returns how many values there are.
func (t *Table[T]) Len() int { return len(t.values) - len(t.free) }

// Each calls f for every value. f may remove the value that it is called for.
func (t *Table[T]) Each(f func(*T)) {
	for _, v := range t.values {
		if v != nil {
			f(v)
		}
	}
}
