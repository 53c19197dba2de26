package pmi2

import (
	"bytes"
	"fmt"
	"score/nodeagent/pmi"
	"strconv"
)

// Length reads a frame's header: decimal digits, padded with blanks on the right or, by MPICH from
// 4.2 on, on the left.
func Length(header []byte) (int, error) {
	digits := bytes.TrimRight(header, " ")
	if len(digits) == len(header) {
		digits = bytes.TrimLeft(header, " ")
	}
	if len(header) != HeaderLen || len(digits) == 0 {
		return 0, fmt.Errorf("%w: %.16q is not the length of a PMI-2 frame", pmi.ErrMalformed, header)
	}
	n := 0
	for _, c := range digits {
		if c < '0' || c > '9' {
			return 0, fmt.Errorf("%w: %.16q is not the length of a PMI-2 frame", pmi.ErrMalformed, header)
		}
		n = n*10 + int(c-'0')
	}
	if n > MaxFrame {
		return 0, fmt.Errorf("%w: a frame of %d bytes, the most is %d", pmi.ErrTooLong, n, MaxFrame)
	}
	return n, nil
}

// Frame writes a frame: Begin, pairs, End.
type Frame struct {
	dst   []byte
	start int
}

// Begin starts a frame at the end of dst. thread is the request's thread mark, "" if it had none.
func Begin(dst []byte, command, thread string) Frame {
	f := Frame{dst: append(dst, "      "...), start: len(dst)}
	f.Pair("cmd", command)
	if thread != "" {
		f.Pair(ThreadKey, thread)
	}
	return f
}

// Pair appends a pair.
func (f *Frame) Pair(key, value string) {
	f.dst = append(f.dst, key...)
	f.dst = append(f.dst, '=')
	for i := range len(value) {
		if value[i] == ';' {
			f.dst = append(f.dst, ';')
		}
		f.dst = append(f.dst, value[i])
	}
	f.dst = append(f.dst, ';')
}

// Int appends a pair with a number.
func (f *Frame) Int(key string, n int64) {
	f.dst = append(f.dst, key...)
	f.dst = append(f.dst, '=')
	f.dst = strconv.AppendInt(f.dst, n, 10)
	f.dst = append(f.dst, ';')
}

// End writes the length in front and returns the extended dst.
func (f *Frame) End() []byte {
	length := len(f.dst) - f.start - HeaderLen
	strconv.AppendInt(f.dst[f.start:f.start], int64(length), 10)
	return f.dst
}
