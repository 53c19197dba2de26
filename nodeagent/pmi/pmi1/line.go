package pmi1

import (
	"bytes"
	"fmt"
	"score/nodeagent/pmi"
)

type pair struct{ key, value []byte }

// Line is a parsed line. It refers to the parsed text and is reused.
type Line struct {
	pairs [MaxPairs]pair
	n     int
}

// Parse splits a line, without its line end, into pairs. The error wraps
// pmi.ErrMalformed or pmi.ErrTooLong.
func (l *Line) Parse(text []byte) error {
	l.n = 0
	if len(text) >= MaxLine {
		return fmt.Errorf("%w: a line of %d bytes, the most is %d", pmi.ErrTooLong, len(text), MaxLine-1)
	}
	for len(text) > 0 {
		var token []byte
		if l.isAbort() && bytes.HasPrefix(text, []byte("message=")) {
			token, text = text, nil // MPICH from 4.2 on writes a sentence
		} else {
			token, text, _ = bytes.Cut(text, []byte{' '})
		}
		if len(token) == 0 {
			// Some clients leave a blank at the end of a line.
			continue
		}
		key, value, ok := bytes.Cut(token, []byte{'='})
		if !ok || len(key) == 0 {
			return fmt.Errorf("%w: %.64q is not key=value; PMI-1 values cannot contain blanks", pmi.ErrMalformed, token)
		}
		if l.n == MaxPairs {
			return fmt.Errorf("%w: more than %d pairs on a line", pmi.ErrTooLong, MaxPairs)
		}
		l.pairs[l.n] = pair{key, value}
		l.n++
	}
	if l.n == 0 {
		return fmt.Errorf("%w: an empty line", pmi.ErrMalformed)
	}
	return nil
}

func (l *Line) isAbort() bool { return string(l.Command()) == "abort" }

// Get returns the value of the first pair with that key.
func (l *Line) Get(key string) (value []byte, ok bool) {
	for i := range l.pairs[:l.n] {
		if string(l.pairs[i].key) == key {
			return l.pairs[i].value, true
		}
	}
	return nil, false
}

// Need returns the value of a required key.
func (l *Line) Need(key string) ([]byte, error) {
	value, ok := l.Get(key)
	if !ok {
		return nil, fmt.Errorf("%w: %.64q without %s=", pmi.ErrMalformed, l.Command(), key)
	}
	return value, nil
}

// Int returns the value of a required key that must be a decimal number.
func (l *Line) Int(key string) (int, error) {
	value, err := l.Need(key)
	if err != nil {
		return 0, err
	}
	return pmi.ParseInt(key, string(value))
}

// Command returns the value of cmd, empty if the line has none.
func (l *Line) Command() []byte {
	value, _ := l.Get("cmd")
	return value
}
