package match

import "testing"

// TestChains checks that no bucket gets a long chain with the keys that programs make: sources and
// tags in sequence, in strides, and in high bits; and that each key of a chain is found.
func TestChains(t *testing.T) {
	const keys = 4096
	const longest = 12 // of keys that are thrown into as many buckets at random one expects 7
	for _, c := range []struct {
		name string
		key  func(i int) (uint32, uint64)
	}{
		{"tags", func(i int) (uint32, uint64) { return 5, uint64(i) }},
		{"tags in pages", func(i int) (uint32, uint64) { return 5, uint64(i) << 12 }},
		{"tags in the middle", func(i int) (uint32, uint64) { return 5, uint64(i) << 32 }},
		{"tags on top", func(i int) (uint32, uint64) { return 5, uint64(i) << 52 }},
		{"sources", func(i int) (uint32, uint64) { return uint32(i), 5 }},
		{"any source, source in the tag", func(i int) (uint32, uint64) { return AnySource, uint64(i)<<20 | 5 }},
		{"sources and tags", func(i int) (uint32, uint64) { return uint32(i % 64), uint64(i / 64) }},
		{"source equals tag", func(i int) (uint32, uint64) { return uint32(i), uint64(i) }},
		{"sources and communicators", func(i int) (uint32, uint64) { return uint32(i % 64), uint64(i/64)<<40 | 7 }},
	} {
		t.Run(c.name, func(t *testing.T) {
			var tb table[Recv]
			rs := make([]Recv, keys)
			for i := range rs {
				source, tag := c.key(i)
				tb.insert(&rs[i].key, &rs[i], source, tag)
			}
			if tb.keys != keys || len(tb.buckets) != keys {
				t.Fatalf("%d keys in %d buckets", tb.keys, len(tb.buckets))
			}
			if n := longestChain(&tb); n > longest {
				t.Errorf("a chain has %d keys", n)
			}
			for i := range rs {
				if tb.find(c.key(i)) != &rs[i].key {
					t.Fatalf("key %d was not found", i)
				}
				tb.remove(&rs[i].key)
			}
			if tb.keys != 0 || longestChain(&tb) != 0 {
				t.Errorf("%d keys are left", tb.keys)
			}
		})
	}
}

// TestEqualKeys checks that links with equal keys take one place in a chain and no bucket.
func TestEqualKeys(t *testing.T) {
	var tb table[Recv]
	rs := make([]Recv, 1000)
	for i := range rs {
		tb.insert(&rs[i].key, &rs[i], uint32(i%2), 0)
	}
	if tb.keys != 2 || len(tb.buckets) != minBuckets || longestChain(&tb) > 2 {
		t.Errorf("%d keys in %d buckets, %d in one", tb.keys, len(tb.buckets), longestChain(&tb))
	}
}

// longestChain returns the number of keys in the bucket that has most.
func longestChain(tb *table[Recv]) int {
	longest := 0
	for _, l := range tb.buckets {
		n := 0
		for ; l != nil; l = l.chain {
			n++
		}
		longest = max(longest, n)
	}
	return longest
}
