package bfrops

import "fmt"

func (r *Reader) fail(err error) {
	if r.err == nil {
		r.err = err
	}
	r.data = nil
}

func (r *Reader) malformed(what string) { r.fail(fmt.Errorf("%w: %s", ErrMalformed, what)) }

// take returns the next n bytes, which belong to the message.
func (r *Reader) take(n uint64) []byte {
	if n > uint64(len(r.data)) {
		r.malformed("it ends too early")
		return nil
	}
	piece := r.data[:n]
	r.data = r.data[n:]
	return piece
}

// number reads the number of things that take at least minBytes each.
func (r *Reader) number(minBytes int) int {
	n := r.Size()
	return r.bounded(n, minBytes)
}

func (r *Reader) bounded(n uint64, minBytes int) int {
	if n > uint64(len(r.data)/minBytes) {
		r.malformed(fmt.Sprintf("it announces %d values and has %d bytes", n, len(r.data)))
		return 0
	}
	if r.values += int(n); r.values > MaxValues {
		r.fail(fmt.Errorf("%w: more than %d values", ErrTooMany, MaxValues))
		return 0
	}
	return int(n)
}

func (r *Reader) byte() byte {
	if piece := r.take(1); len(piece) == 1 {
		return piece[0]
	}
	return 0
}

func (r *Reader) unsigned(width int) uint64 {
	if r.encoding == V3 {
		return fixed(r.take(uint64(width)))
	}
	n, size := flex(r.data)
	if size == 0 || !fits(n, width) {
		r.malformed("a number that is cut off or too large")
		return 0
	}
	r.data = r.data[size:]
	return n
}

func (r *Reader) signed(width int) int64 {
	if r.encoding == V3 {
		return int64(signExtend(fixed(r.take(uint64(width))), width))
	}
	return unzigzag(r.unsigned(width))
}

// mark reads the mark of a form, if it has one.
func (r *Reader) mark(f form) {
	want := f.mark(r.encoding)
	if want == Undefined {
		return
	}
	if got := Type(r.unsigned(2)); r.err == nil && got != want {
		r.malformed(fmt.Sprintf("a number of type %d where %d was expected", got, want))
	}
}

func (r *Reader) size() uint64 {
	r.mark(formSize)
	return r.unsigned(8)
}

func (r *Reader) text() (text string, null bool) {
	n := r.signed(4)
	switch {
	case r.err != nil:
		return "", false
	case n == 0:
		return "", true
	case n < 0:
		r.malformed("a string of negative length")
		return "", false
	}
	piece := r.take(uint64(n))
	if r.err != nil || piece[n-1] != 0 {
		r.malformed("a string without its end")
		return "", false
	}
	return string(piece[:n-1]), false
}
