package kvpack

import (
	"encoding/binary"
	"strconv"
	"strings"
)

// Forms of the data.
const (
	formPlain    = 0
	formSqueezed = 1
)

// Forms of a value, in the two low bits of its size.
const (
	valueRaw = iota
	valueUpper
	valueLower
	valueForms = 4 // by which the size is multiplied
)

// Pack collects key sets.
type Pack struct {
	index map[template]int
	table []template
	// sets holds the finished sets without their count; set is the open one.
	sets  []byte
	set   []byte
	pairs int
	ranks int
	open  int // the rank of the open set, -1: none
	next  int // the last set's rank plus one
	plain int
}

// template is a key without the rank's number, which belongs at hole-1. With hole 0 it is the whole
// key.
type template struct {
	text string
	hole int
}

// NewPack returns an empty pack with room for size bytes.
func NewPack(size int) *Pack {
	return &Pack{index: make(map[template]int), sets: make([]byte, 0, size), open: -1}
}

// PlainBytes returns the size of the pairs so far as lines of text: key, value and two separators
// each, without the ranks.
func (p *Pack) PlainBytes() int { return p.plain }

// Add adds a value of a rank. Ranks must come in ascending order, with all pairs of a rank
// together.
func (p *Pack) Add(rank int, key, value string) {
	if rank != p.open {
		p.close()
		p.open = rank
	}
	p.plain += len(key) + len(value) + 2
	p.pairs++
	p.set = binary.AppendUvarint(p.set, uint64(p.keyIndex(cut(key, rank))))
	p.set = appendValue(p.set, value)
}

func (p *Pack) keyIndex(t template) int {
	i, ok := p.index[t]
	if !ok {
		i = len(p.table)
		p.index[t] = i
		p.table = append(p.table, t)
	}
	return i
}

func (p *Pack) close() {
	if p.open < 0 {
		return
	}
	p.sets = binary.AppendUvarint(p.sets, uint64(p.open-p.next))
	p.sets = binary.AppendUvarint(p.sets, uint64(p.pairs))
	p.sets = append(p.sets, p.set...)
	p.ranks++
	p.next, p.open, p.pairs, p.set = p.open+1, -1, 0, p.set[:0]
}

// Append appends the packed form.
func (p *Pack) Append(dst []byte) []byte {
	p.close()
	body := p.appendBody(make([]byte, 0, len(p.sets)+tableGuess*len(p.table)))
	start := len(dst)
	dst = append(dst, formSqueezed)
	dst = binary.AppendUvarint(dst, uint64(len(body)))
	dst = compress(dst, body)
	if len(dst)-start <= len(body) {
		return dst
	}
	dst = append(dst[:start], formPlain)
	return append(dst, body...)
}

// tableGuess is the approximate size of a key in the table, in bytes.
const tableGuess = 24

func (p *Pack) appendBody(dst []byte) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(p.table)))
	last := ""
	for _, t := range p.table {
		shared := sharedPrefix(last, t.text)
		dst = binary.AppendUvarint(dst, uint64(shared))
		dst = binary.AppendUvarint(dst, uint64(len(t.text)-shared))
		dst = append(dst, t.text[shared:]...)
		dst = binary.AppendUvarint(dst, uint64(t.hole))
		last = t.text
	}
	dst = binary.AppendUvarint(dst, uint64(p.ranks))
	return append(dst, p.sets...)
}

func sharedPrefix(a, b string) int {
	n := 0
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	return n
}

// cut removes the rank's number from a key, at its last place as a number of its own:
// "P12-businesscard".
func cut(key string, rank int) template {
	var buf [20]byte
	digits := strconv.AppendInt(buf[:0], int64(rank), 10)
	for end := len(key); end >= len(digits); {
		at := strings.LastIndex(key[:end], string(digits))
		if at < 0 {
			break
		}
		after := at + len(digits)
		if (at == 0 || !isDigit(key[at-1])) && (after == len(key) || !isDigit(key[after])) {
			return template{text: key[:at] + key[after:], hole: at + 1}
		}
		end = after - 1
	}
	return template{text: key}
}

// fill returns the key for a rank, the inverse of cut.
func (t template) fill(rank int) string {
	if t.hole == 0 {
		return t.text
	}
	return t.text[:t.hole-1] + strconv.Itoa(rank) + t.text[t.hole-1:]
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

// appendValue appends a value. Hex digits are packed two to a byte.
func appendValue(dst []byte, value string) []byte {
	form := hexForm(value)
	dst = binary.AppendUvarint(dst, uint64(len(value))*valueForms|uint64(form))
	if form == valueRaw {
		return append(dst, value...)
	}
	for i := 0; i < len(value); i += 2 {
		dst = append(dst, nibble(value[i])<<4|nibble(value[i+1]))
	}
	return dst
}

// hexForm returns the form of a value. Decimal digits alone count as capital hex digits, as MPICH
// writes them.
func hexForm(value string) int {
	if len(value) == 0 || len(value)%2 != 0 {
		return valueRaw
	}
	form := valueRaw
	for i := range len(value) {
		c := value[i]
		of := valueRaw
		switch {
		case isDigit(c):
			continue
		case c >= 'A' && c <= 'F':
			of = valueUpper
		case c >= 'a' && c <= 'f':
			of = valueLower
		}
		if of == valueRaw || form != valueRaw && form != of {
			return valueRaw
		}
		form = of
	}
	if form == valueRaw {
		return valueUpper
	}
	return form
}

func nibble(c byte) byte {
	switch {
	case isDigit(c):
		return c - '0'
	case c >= 'a':
		return c - 'a' + 10
	}
	return c - 'A' + 10
}
