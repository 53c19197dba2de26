package boltcheck

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
)

// ErrDamaged is wrapped by errors of a file that bbolt cannot use.
var ErrDamaged = errors.New("the file is damaged")

const (
	// maxDepth bounds the levels of a tree: with two keys per page it holds more than any file
	// does.
	maxDepth = 64
	// maxChunk bounds a page with its overflow, in bytes: entries of the log are far smaller.
	maxChunk = 256 << 20
)

// File checks the file with this name. An empty or missing file is not damaged: bbolt makes a new
// one.
func File(path string) error {
	file, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return fmt.Errorf("%w: it is not a regular file", ErrDamaged)
	}
	return check(file, info.Size())
}

// check checks a database of this size.
func check(file io.ReaderAt, size int64) error {
	if size == 0 {
		return nil
	}
	m, err := findMeta(file, size)
	if err != nil {
		return err
	}
	if m.pages > uint64(size)/m.pageSize {
		return fmt.Errorf("%w: it has %d bytes, and needs %d pages of %d", ErrDamaged, size, m.pages, m.pageSize)
	}
	c := &checker{file: file, meta: m, seen: make([]bool, m.pages)}
	c.seen[0], c.seen[1] = true, true
	return c.tree(m.root, span{}, 0)
}

// checker walks through the pages in use.
type checker struct {
	file io.ReaderAt
	meta
	seen []bool
}

// span is the range of a subtree's keys: at least low, less than high. Nil: no limit.
type span struct{ low, high []byte }

func (s span) holds(key []byte) bool {
	return (s.low == nil || bytes.Compare(s.low, key) <= 0) && (s.high == nil || bytes.Compare(key, s.high) < 0)
}

func (c *checker) damaged(page uint64, what string) error {
	return fmt.Errorf("%w: page %d: %s", ErrDamaged, page, what)
}

// tree checks the page and its subtree.
func (c *checker) tree(id uint64, keys span, depth int) error {
	if depth > maxDepth {
		return c.damaged(id, "the tree is too deep")
	}
	p, err := c.page(id)
	if err != nil {
		return err
	}
	switch p.flags {
	case branchPage:
		return c.branch(p, keys, depth)
	case leafPage:
		return c.leaf(p, keys, depth)
	default:
		return c.damaged(id, "it is neither branch nor leaf")
	}
}

// page reads a page with its overflow. No page may be read twice.
func (c *checker) page(id uint64) (page, error) {
	if id < 2 || id >= c.pages {
		return page{}, c.damaged(id, "there is no such page")
	}
	head := make([]byte, headSize)
	if err := c.read(id, head); err != nil {
		return page{}, err
	}
	p := page{id: id, flags: binary.LittleEndian.Uint16(head[8:]), count: int(binary.LittleEndian.Uint16(head[10:]))}
	if binary.LittleEndian.Uint64(head) != id {
		return page{}, c.damaged(id, "it has another page's number")
	}
	length := 1 + uint64(binary.LittleEndian.Uint32(head[12:]))
	if length > c.pages-id || length > maxChunk/c.pageSize {
		return page{}, c.damaged(id, "it is longer than the file")
	}
	for i := id; i < id+length; i++ {
		if c.seen[i] {
			return page{}, c.damaged(i, "it is used twice")
		}
		c.seen[i] = true
	}
	p.data = make([]byte, length*c.pageSize)
	return p, c.read(id, p.data)
}

func (c *checker) read(id uint64, into []byte) error {
	if _, err := c.file.ReadAt(into, int64(id*c.pageSize)); err != nil {
		return fmt.Errorf("page %d cannot be read: %w", id, err)
	}
	return nil
}

func (c *checker) branch(p page, keys span, depth int) error {
	if p.count == 0 {
		return c.damaged(p.id, "a branch without elements")
	}
	elements := make([]element, p.count)
	for i := range elements {
		var ok bool
		if elements[i], ok = p.branchElement(i); !ok {
			return c.damaged(p.id, "an element reaches beyond it")
		}
	}
	low := keys.low
	for i, e := range elements {
		if !(span{low, keys.high}).holds(e.key) || i > 0 && bytes.Equal(low, e.key) {
			return c.damaged(p.id, "its keys are not in order")
		}
		below := span{e.key, keys.high}
		if i+1 < len(elements) {
			below.high = elements[i+1].key
		}
		if err := c.tree(e.child, below, depth+1); err != nil {
			return err
		}
		low = e.key
	}
	return nil
}

func (c *checker) leaf(p page, keys span, depth int) error {
	low := keys.low
	for i := range p.count {
		e, ok := p.leafElement(i)
		if !ok {
			return c.damaged(p.id, "an element reaches beyond it")
		}
		if !(span{low, keys.high}).holds(e.key) || i > 0 && bytes.Equal(low, e.key) {
			return c.damaged(p.id, "its keys are not in order")
		}
		low = e.key
		if e.flags&bucketElement == 0 {
			continue
		}
		if err := c.bucket(p.id, e.value, depth); err != nil {
			return err
		}
	}
	return nil
}

// bucket checks a nested bucket; a small one is stored in its element.
func (c *checker) bucket(id uint64, value []byte, depth int) error {
	if len(value) < bucketSize {
		return c.damaged(id, "a bucket is too short")
	}
	if root := binary.LittleEndian.Uint64(value); root != 0 {
		return c.tree(root, span{}, depth+1)
	}
	if len(value) < bucketSize+headSize {
		return c.damaged(id, "a bucket is too short")
	}
	inline := value[bucketSize:]
	p := page{id: id, flags: binary.LittleEndian.Uint16(inline[8:]), count: int(binary.LittleEndian.Uint16(inline[10:])), data: inline}
	if p.flags != leafPage {
		return c.damaged(id, "a bucket in it is no leaf")
	}
	if depth+1 > maxDepth {
		return c.damaged(id, "the tree is too deep")
	}
	return c.leaf(p, span{}, depth+1)
}
