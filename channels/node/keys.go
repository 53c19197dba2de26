package node

// keys remembers the keys of the last removedKeys jobs that were removed.
type keys struct {
	known map[uint64]struct{}
	order []uint64
	next  int // of the oldest, once order is full
}

func (k *keys) add(key uint64) {
	if k.known == nil {
		k.known = map[uint64]struct{}{}
	}
	k.known[key] = struct{}{}
	if len(k.order) < removedKeys {
		k.order = append(k.order, key)
		return
	}
	delete(k.known, k.order[k.next])
	k.order[k.next] = key
	k.next = (k.next + 1) % removedKeys
}

func (k *keys) has(key uint64) bool {
	_, ok := k.known[key]
	return ok
}

// drop forgets a key that came back. Its place in the order stays.
func (k *keys) drop(key uint64) { delete(k.known, key) }
