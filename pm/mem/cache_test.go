package mem

import (
	"bytes"
	"os"
	"slices"
	"sync"
	"testing"

	"pgregory.net/rapid"
)

// TestFreedAndReused: a window in the cache is closed, and its descriptor and address are used
// again. The cached mapping is never returned for either.
func TestFreedAndReused(t *testing.T) {
	c := startChild(t)
	p := c.open(t)
	old := c.askHandle(t, "window 65536 a")
	m, err := p.Map(old)
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Release(); err != nil {
		t.Fatal(err)
	}
	c.ask(t, "close 0")
	reused := c.askHandle(t, "window 65536 b")
	if reused.FD != old.FD {
		t.Fatalf("descriptor %d, then %d", old.FD, reused.FD)
	}
	if reused.Inode == old.Inode {
		t.Fatalf("two windows have the inode %d", old.Inode)
	}
	got, err := p.Map(reused)
	if err != nil || bytes.Count(got.Bytes(), []byte("b")) != len(got.Bytes()) {
		t.Fatalf("the new window: %v", err)
	}
	for range 2 {
		_, err = p.Map(old)
		wantError(t, "the old window", err, ErrHandle)
	}
	if s := p.cache.Stats(); s != (Stats{Bytes: 65536, Mappings: 1, Misses: 2, Stale: 1}) {
		t.Errorf("%+v", s)
	}
	if m.Bytes() != nil {
		t.Error("the old window is still mapped")
	}
	if got.Bytes()[0] != 'b' {
		t.Error("the new window was unmapped")
	}
}

// TestStaleMappingInUse stays readable until it is released, but is not returned again.
func TestStaleMappingInUse(t *testing.T) {
	c := startChild(t)
	p := c.open(t)
	h := c.askHandle(t, "window 4096 a")
	m, err := p.Map(h)
	if err != nil {
		t.Fatal(err)
	}
	c.ask(t, "close 0")
	_, err = p.Map(h)
	wantError(t, "closed window", err, ErrHandle)
	if m.Bytes()[0] != 0 {
		t.Error("freed memory shows what it held")
	}
	if err := m.Release(); err != nil || m.Bytes() != nil {
		t.Errorf("the mapping stays: %v", err)
	}
}

// TestLimit compares the cache with a list, the least recently released first.
func TestLimit(t *testing.T) {
	const page, count = 65536, 8
	var windows []*Window
	for i := range count {
		w := newTestWindow(t, page*(i%3+1))
		w.Bytes()[0] = byte(i)
		windows = append(windows, w)
	}
	self := ownStart(t)
	rapid.Check(t, func(t *rapid.T) {
		limit := uint64(rapid.IntRange(0, 8).Draw(t, "limit")) * page
		cache := NewCache(limit)
		p, err := cache.OpenPeer(os.Getpid(), self)
		if err != nil {
			t.Fatal(err)
		}
		defer p.Close()
		model := model{limit: limit, used: map[int][]*Mapping{}, size: func(i int) uint64 { return windows[i].Handle().Size }}
		t.Repeat(map[string]func(*rapid.T){
			"": func(t *rapid.T) { model.check(t, cache) },
			"map": func(t *rapid.T) {
				i := rapid.IntRange(0, count-1).Draw(t, "window")
				m, err := p.Map(windows[i].Handle())
				if err != nil || m.Bytes()[0] != byte(i) {
					t.Fatalf("window %d: %v", i, err)
				}
				model.mapped(i, m)
			},
			"release": func(t *rapid.T) {
				if len(model.used) == 0 {
					t.Skip("nothing is in use")
				}
				i := rapid.SampledFrom(model.inUse()).Draw(t, "window")
				if err := model.used[i][0].Release(); err != nil {
					t.Fatal(err)
				}
				model.released(i)
			},
		})
		for i, uses := range model.used {
			for range uses {
				if err := model.used[i][0].Release(); err != nil {
					t.Fatal(err)
				}
			}
		}
	})
}

// model is what a cache should hold.
type model struct {
	limit  uint64
	size   func(window int) uint64
	used   map[int][]*Mapping
	unused []int // the least recently used first
}

func (m *model) mapped(i int, mapping *Mapping) {
	m.unused = slices.DeleteFunc(m.unused, func(j int) bool { return i == j })
	m.used[i] = append(m.used[i], mapping)
	m.evict()
}

func (m *model) released(i int) {
	m.used[i] = m.used[i][1:]
	if len(m.used[i]) == 0 {
		delete(m.used, i)
		m.unused = append(m.unused, i)
	}
	m.evict()
}

func (m *model) evict() {
	for len(m.unused) > 0 && m.bytes() > m.limit {
		m.unused = m.unused[1:]
	}
}

func (m *model) bytes() (n uint64) {
	for i := range m.used {
		n += m.size(i)
	}
	for _, i := range m.unused {
		n += m.size(i)
	}
	return n
}

func (m *model) inUse() (windows []int) {
	for i := range m.used {
		windows = append(windows, i)
	}
	slices.Sort(windows)
	return windows
}

func (m *model) check(t *rapid.T, cache *Cache) {
	s := cache.Stats()
	if s.Bytes != m.bytes() || s.Mappings != len(m.used)+len(m.unused) {
		t.Fatalf("%+v, want %d bytes in %d mappings", s, m.bytes(), len(m.used)+len(m.unused))
	}
	for i, uses := range m.used {
		if uses[0].Bytes()[0] != byte(i) {
			t.Fatalf("window %d, which is in use, shows another", i)
		}
	}
}

// TestManyUsers map, use, release and evict from many goroutines while the peer is closed.
func TestManyUsers(t *testing.T) {
	const users, rounds = 8, 300
	var windows []*Window
	for i := range 5 {
		w := newTestWindow(t, 65536)
		w.Bytes()[0] = byte(i)
		windows = append(windows, w)
	}
	cache := NewCache(2 * 65536)
	p := openSelf(t, cache)
	var all sync.WaitGroup
	for u := range users {
		all.Go(func() {
			for i := range rounds {
				k := (u + i*(u+1)) % len(windows)
				m, err := p.Map(windows[k].Handle())
				if err != nil || m.Bytes()[0] != byte(k) {
					t.Errorf("window %d: %v", k, err)
					return
				}
				if err := m.Release(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	if s := cache.Stats(); s.Bytes > 2*65536 || s.Hits+s.Misses != users*rounds || s.Stale != 0 {
		t.Errorf("%+v", s)
	}
	if err := p.Close(); err != nil {
		t.Error(err)
	}
	if s := cache.Stats(); s.Bytes != 0 || s.Mappings != 0 {
		t.Errorf("after Close: %+v", s)
	}
}

func TestManySmallWindows(t *testing.T) {
	cache := NewCache(testLimit)
	p := openSelf(t, cache)
	w := newTestWindow(t, 1)
	const surplus = 3
	for i := range uint32(MaxMappings + surplus) {
		// Another descriptor of the same window is another handle.
		m, err := p.Map(w.Handle())
		if err != nil {
			t.Fatal(err)
		}
		cache.mu.Lock()
		delete(cache.mappings, m.key)
		m.key.handle.FD = 1000 + i
		cache.mappings[m.key] = m
		cache.mu.Unlock()
		if err := m.Release(); err != nil {
			t.Fatal(err)
		}
	}
	if s := cache.Stats(); s.Mappings != MaxMappings || s.Evicted != surplus {
		t.Errorf("%+v", s)
	}
}
