package kvpack

import (
	"errors"
	"score/nodeagent/pmi/leb128"
	"strings"
)

// ErrMalformed means that data does not come from a Pack.
var ErrMalformed = errors.New("packed cards that contradict themselves")

// Limits bounds the data that Read accepts.
type Limits struct {
	// Ranks is the number of ranks of the job; a rank is below it.
	Ranks int
	// Key and Value are the largest lengths, in bytes.
	Key, Value int
}

// Read calls each for every value of a Pack, in the order of Add. Keys and values are substrings of
// one text. The error wraps ErrMalformed, or is the error of each.
func Read(data string, limits Limits, each func(rank int, key, value string) error) error {
	r := newReader(data)
	switch r.Number() {
	case formPlain:
	case formSqueezed:
		size := r.Number()
		if r.Bad() || size > uint64(r.Left())*MaxGrowth {
			return ErrMalformed
		}
		text, ok := spread(r, int(size))
		if !ok {
			return ErrMalformed
		}
		r = newReader(text)
	default:
		return ErrMalformed
	}
	table := readKeys(r, &limits)
	if err := readSets(r, table, &limits, each); err != nil {
		return err
	}
	if r.Bad() || r.Left() > 0 {
		return ErrMalformed
	}
	return nil
}

// readKeys reads the key table.
func readKeys(r *reader, limits *Limits) []template {
	const minBytes = 3 // bytes of a key, which bounds the count by the data
	var table []template
	last := ""
	for range r.Count(minBytes) {
		shared := r.Number()
		own := r.Chunk(r.Number())
		hole := r.Number()
		if r.Bad() || shared > uint64(len(last)) || int(shared)+len(own) > limits.Key || hole > uint64(int(shared)+len(own)+1) {
			r.Fail()
			return nil
		}
		last = last[:shared] + own
		table = append(table, template{text: last, hole: int(hole)})
	}
	return table
}

func readSets(r *reader, table []template, limits *Limits, each func(int, string, string) error) error {
	const minBytes = 2 // bytes of a set, and of a pair
	next := uint64(0)
	for range r.Count(minBytes) {
		rank := r.Number()
		if r.Bad() || rank >= uint64(limits.Ranks) || next+rank >= uint64(limits.Ranks) {
			return ErrMalformed
		}
		rank += next
		next = rank + 1
		for range r.Count(minBytes) {
			index := r.Number()
			value := r.value(uint64(limits.Value))
			if r.Bad() || index >= uint64(len(table)) {
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

// reader reads packed cards.
type reader struct{ leb128.Reader }

func newReader(text string) *reader { return &reader{leb128.NewReader(text)} }

// value reads a value that appendValue wrote.
func (r *reader) value(limit uint64) string {
	head := r.Number()
	size, form := head/valueForms, head%valueForms
	if size > limit {
		r.Fail()
		return ""
	}
	digits := "0123456789ABCDEF"
	switch {
	case form == valueRaw:
		return r.Chunk(size)
	case form > valueLower || size%2 != 0:
		r.Fail()
		return ""
	case form == valueLower:
		digits = "0123456789abcdef"
	}
	packed := r.Chunk(size / 2)
	var text strings.Builder
	text.Grow(len(packed) * 2)
	for i := range len(packed) {
		text.WriteByte(digits[packed[i]>>4])
		text.WriteByte(digits[packed[i]&0xf])
	}
	return text.String()
}
