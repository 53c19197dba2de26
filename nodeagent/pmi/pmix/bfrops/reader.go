package bfrops

import "fmt"

// Reader unpacks values. After the first mistake Err returns it and all further calls return zeros,
// so one check after several calls is enough. The returned values do not refer to the message.
type Reader struct {
	encoding Encoding
	data     []byte
	err      error
	values   int
}

// NewReader returns a reader of a message.
func NewReader(encoding Encoding, data []byte) *Reader {
	return &Reader{encoding: encoding, data: data}
}

// Err returns the first mistake in the message; nil if there was none so far.
func (r *Reader) Err() error { return r.err }

// Left returns how many bytes have not been read.
func (r *Reader) Left() int { return len(r.data) }

// Count reads the number of values that follow, which must be n.
func (r *Reader) Count(n int) {
	if got := r.signed(4); r.err == nil && got != int64(n) {
		r.malformed(fmt.Sprintf("a count of %d where there must be %d", got, n))
	}
}

// Command reads the command of a message.
func (r *Reader) Command() uint8 {
	r.Count(1)
	return r.byte()
}

// Scope reads a single scope.
func (r *Reader) Scope() uint8 { return r.Command() }

// Size reads a single size.
func (r *Reader) Size() uint64 {
	r.Count(1)
	return r.size()
}

// Status reads a single status.
func (r *Reader) Status() int32 {
	r.Count(1)
	return int32(r.signed(4))
}

// Rank reads a single rank.
func (r *Reader) Rank() uint32 {
	r.Count(1)
	return uint32(r.unsigned(4))
}

// Uint32 reads a single number of 32 bits.
func (r *Reader) Uint32() uint32 { return r.Rank() }

// Text reads a single string.
func (r *Reader) Text() string {
	r.Count(1)
	text, _ := r.text()
	return text
}

// Procs reads a number of processes and then their names.
func (r *Reader) Procs() []Proc {
	n := r.number(2)
	if n == 0 || r.err != nil {
		return nil
	}
	r.Count(n)
	procs := make([]Proc, 0, n)
	for range n {
		name, _ := r.text()
		procs = append(procs, Proc{name, uint32(r.unsigned(4))})
		if r.err != nil {
			return nil
		}
	}
	return procs
}

// Infos reads a number of infos and then the infos.
func (r *Reader) Infos() Infos {
	n := r.number(3)
	if n > 0 && r.err == nil {
		r.Count(n)
	}
	return r.infos(n)
}

func (r *Reader) infos(n int) Infos {
	if n == 0 || r.err != nil {
		return nil
	}
	infos := make(Infos, 0, n)
	for range n {
		key, _ := r.text()
		flags := uint32(r.unsigned(4))
		infos = append(infos, Info{key, flags, r.value(0)})
		if r.err != nil {
			return nil
		}
	}
	return infos
}

// Buffer reads a single buffer, and returns a reader of its content.
func (r *Reader) Buffer() *Reader {
	r.Count(1)
	kind := r.byte()
	data := r.take(r.size())
	if r.err == nil && kind != NotDescribed && len(data) > 0 {
		r.malformed(fmt.Sprintf("a buffer of kind %d", kind))
	}
	return &Reader{encoding: r.encoding, data: data, err: r.err, values: r.values}
}

// Object reads a single byte object, and returns a reader of its content.
func (r *Reader) Object() *Reader {
	r.Count(1)
	data := r.take(r.size())
	return &Reader{encoding: r.encoding, data: data, err: r.err, values: r.values}
}

// Adopt takes over the count of values and the error of part, which has read a part of this
// message.
func (r *Reader) Adopt(part *Reader) {
	r.values = part.values
	if part.err != nil {
		r.fail(part.err)
	}
}

// Statuses reads an array of n statuses.
func (r *Reader) Statuses(n uint64) []int32 {
	count := r.bounded(n, 1)
	r.Count(count)
	codes := make([]int32, 0, count)
	for range count {
		codes = append(codes, int32(r.signed(4)))
	}
	if r.err != nil {
		return nil
	}
	return codes
}
