package pmi2

import (
	"bytes"
	"fmt"
	"score/nodeagent/pmi"
)

type pair struct{ key, value []byte }

// Body is the parsed body of a frame. It refers to the frame, which parsing changes. It can be
// reused.
type Body struct{ pairs []pair }

// Parse splits a body into pairs. It unescapes doubled ';' in place.
func (b *Body) Parse(text []byte) error {
	b.pairs = b.pairs[:0]
	for len(text) > 0 {
		at := bytes.IndexByte(text, '=')
		if at < 1 || bytes.IndexByte(text[:at], ';') >= 0 {
			return fmt.Errorf("%w: %.64q does not begin with key=", pmi.ErrMalformed, text)
		}
		value, rest, ok := cutValue(text[at+1:])
		if !ok {
			return fmt.Errorf("%w: the value of %.64q is not closed by ';'", pmi.ErrMalformed, text[:at])
		}
		b.pairs = append(b.pairs, pair{text[:at], value})
		text = rest
	}
	if len(b.pairs) == 0 || string(b.pairs[0].key) != "cmd" {
		return fmt.Errorf("%w: a frame that does not begin with cmd=", pmi.ErrMalformed)
	}
	return nil
}

// cutValue splits the text after the value that ends at a single ';'.
func cutValue(text []byte) (value, rest []byte, ok bool) {
	end := bytes.IndexByte(text, ';')
	for write := end; end >= 0; {
		if end+1 == len(text) || text[end+1] != ';' {
			return text[:write], text[end+1:], true
		}
		text[write] = ';'
		write++
		end += 2
		next := bytes.IndexByte(text[end:], ';')
		if next < 0 {
			return nil, nil, false
		}
		write += copy(text[write:], text[end:end+next])
		end += next
	}
	return nil, nil, false
}

// Command returns the value of cmd.
func (b *Body) Command() []byte { return b.pairs[0].value }

// Get returns the value of the first pair with that key.
func (b *Body) Get(key string) (value []byte, ok bool) {
	for i := range b.pairs {
		if string(b.pairs[i].key) == key {
			return b.pairs[i].value, true
		}
	}
	return nil, false
}

// Need returns the value of a required key.
func (b *Body) Need(key string) ([]byte, error) {
	value, ok := b.Get(key)
	if !ok {
		return nil, fmt.Errorf("%w: %.64q without %s=", pmi.ErrMalformed, b.Command(), key)
	}
	return value, nil
}

// Int returns a value that must be a number, or absent if the key is missing.
func (b *Body) Int(key string, absent int) (int, error) {
	value, ok := b.Get(key)
	if !ok {
		return absent, nil
	}
	return pmi.ParseInt(key, string(value))
}

// staleBytes is the excess length of frames of MPICH 4.0 and older: their length includes the
// header, and the bytes behind the last pair are left over from the previous frame.
const staleBytes = 6

// Stale returns the number of stale bytes at the end of each frame of a client. Its fullinit shows
// them, since the last pair there is always threaded=.
func Stale(fullinit []byte) int {
	if endsWell(fullinit) || len(fullinit) < staleBytes {
		return 0
	}
	if endsWell(fullinit[:len(fullinit)-staleBytes]) {
		return staleBytes
	}
	return 0
}

func endsWell(fullinit []byte) bool {
	return bytes.HasSuffix(fullinit, []byte("threaded=TRUE;")) ||
		bytes.HasSuffix(fullinit, []byte("threaded=FALSE;"))
}
