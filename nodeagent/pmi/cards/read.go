package cards

import (
	"encoding/binary"
	"errors"
	"strings"
)

// ErrMalformed says that data is not what a Pack makes.
var ErrMalformed = errors.New("packed cards that contradict themselves")

// Limits bound what is read.
type Limits struct {
	// Ranks is the number of ranks of the job; a rank is below it.
	Ranks int
	// Key and Value are the longest there may be, in bytes.
	Key, Value int
}

// Read reads what a Pack has made, in its order. Keys and values are substrings of one text. The error wraps
// ErrMalformed, or is the one that each has returned.
func Read(data string, limits Limits, each func(rank int, key, value string) error) error {
	r := &reader{text: data}
	switch r.number() {
	case formPlain:
	case formSqueezed:
		size := r.number()
		if r.bad || size > uint64(r.left())*MaxGrowth {
			return ErrMalformed
		}
		text, ok := spread(r, int(size))
		if !ok {
			return ErrMalformed
		}
		r = &reader{text: text}
	default:
		return ErrMalformed
	}
	table := readKeys(r, &limits)
	if err := readSets(r, table, &limits, each); err != nil {
		return err
	}
	if r.bad || r.left() > 0 {
		return ErrMalformed
	}
	return nil
}

// readKeys reads the key table.
func readKeys(r *reader, limits *Limits) []template {
	const least = 3 // bytes of a key, which bounds the count by the data
	var table []template
	last := ""
	for range r.count(least) {
		shared := r.number()
		own := r.chunk(r.number())
		hole := r.number()
		if r.bad || shared > uint64(len(last)) || int(shared)+len(own) > limits.Key || hole > uint64(int(shared)+len(own)+1) {
			r.fail()
			return nil
		}
		last = last[:shared] + own
		table = append(table, template{text: last, hole: int(hole)})
	}
	return table
}

func readSets(r *reader, table []template, limits *Limits, each func(int, string, string) error) error {
	const least = 2 // bytes of a set, and of a pair
	next := uint64(0)
	for range r.count(least) {
		rank := r.number()
		if r.bad || rank >= uint64(limits.Ranks) || next+rank >= uint64(limits.Ranks) {
			return ErrMalformed
		}
		rank += next
		next = rank + 1
		for range r.count(least) {
			index := r.number()
			value := r.value(uint64(limits.Value))
			if r.bad || index >= uint64(len(table)) {
				return ErrMalformed
			}
			key := table[index].fill(int(rank))
			if len(key) > limits.Key || key == "" {
				return ErrMalformed
			}
			if err := each(int(rank), key, value); err != nil {
				return err
			}
		}
	}
	return nil
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

// value reads what appendValue wrote.
func (r *reader) value(most uint64) string {
	head := r.number()
	size, form := head/valueForms, head%valueForms
	if size > most {
		r.fail()
		return ""
	}
	digits := "0123456789ABCDEF"
	switch {
	case form == valueRaw:
		return r.chunk(size)
	case form > valueLower || size%2 != 0:
		r.fail()
		return ""
	case form == valueLower:
		digits = "0123456789abcdef"
	}
	packed := r.chunk(size / 2)
	var text strings.Builder
	text.Grow(len(packed) * 2)
	for i := range len(packed) {
		text.WriteByte(digits[packed[i]>>4])
		text.WriteByte(digits[packed[i]&0xf])
	}
	return text.String()
}
