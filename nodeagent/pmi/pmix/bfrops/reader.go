package bfrops

import "fmt"

// Reader unpacks values. After the first mistake Err tells it, and all further
// reading gives zeros, so one check after several calls is enough. What it
// returns does not refer to the message.
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

// Err returns what is wrong with the message, nil so far.
func (r *Reader) Err() error { return r.err }

// Left returns how many bytes have not been read.
func (r *Reader) Left() int { return len(r.data) }

// Encoding returns how the message is written.
func (r *Reader) Encoding() Encoding { return r.encoding }

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

// Count reads how many values follow, and expects n.
func (r *Reader) Count(n int) {
	if got := r.signed(4); r.err == nil && got != int64(n) {
		r.malformed(fmt.Sprintf("a count of %d where there must be %d", got, n))
	}
}

// Command reads what the message asks for.
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

// number reads a single size of things that take at least least bytes each.
func (r *Reader) number(least int) int {
	n := r.Size()
	return r.bounded(n, least)
}

func (r *Reader) bounded(n uint64, least int) int {
	if n > uint64(len(r.data)/least) {
		r.malformed(fmt.Sprintf("it announces %d values and has %d bytes", n, len(r.data)))
		return 0
	}
	if r.values += int(n); r.values > MaxValues {
		r.fail(fmt.Errorf("%w: more than %d values", ErrTooMany, MaxValues))
		return 0
	}
	return int(n)
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

// Buffer reads a single buffer and returns a reader of it.
func (r *Reader) Buffer() *Reader {
	r.Count(1)
	kind := r.byte()
	data := r.take(r.size())
	if r.err == nil && kind != NotDescribed && len(data) > 0 {
		r.malformed(fmt.Sprintf("a buffer of kind %d", kind))
	}
	return &Reader{encoding: r.encoding, data: data, err: r.err, values: r.values}
}

// NotDescribed is the kind of a buffer whose values come without their types.
const NotDescribed = 1

// KVal reads a key with its value.
func (r *Reader) KVal() (key string, v Value) {
	r.Count(1)
	key, _ = r.text()
	return key, r.value(0)
}

// Value reads a value with its type before it.
func (r *Reader) Value() Value { return r.value(0) }

func (r *Reader) value(depth int) Value {
	return r.dataOf(Type(r.unsigned(2)), depth)
}

// dataOf reads a value of a type.
func (r *Reader) dataOf(t Type, depth int) Value {
	v := Value{Type: t}
	l, ok := layouts[t]
	switch {
	case r.err != nil:
		return Value{}
	case !ok:
		r.fail(fmt.Errorf("%w %d", ErrType, t))
		return Value{}
	case depth > MaxDepth:
		r.fail(fmt.Errorf("%w: values nested more than %d deep", ErrTooMany, MaxDepth))
		return Value{}
	}
	switch l.form {
	case formNone:
	case formByte:
		v.Number = uint64(r.byte())
	case formUnsigned:
		v.Number = r.unsigned(l.width)
	case formSigned:
		v.Number = uint64(r.signed(l.width))
	case formSize:
		v.Number = r.size()
	case formInt:
		r.mark(Int32)
		v.Number = uint64(r.signed(4))
	case formUint:
		r.mark(Int32)
		v.Number = r.unsigned(4)
	case formPID:
		r.expect(Uint32)
		v.Number = r.unsigned(4)
	case formText:
		v.Text, v.Null = r.text()
	case formBytes:
		v.Text = string(r.take(r.size()))
	case formValue:
		v.Parts = []Value{r.value(depth + 1)}
	case formArray:
		r.array(&v, depth)
	case formParts:
		v.Parts = make([]Value, len(l.parts))
		for i, part := range l.parts {
			v.Parts[i] = r.part(part, depth+1)
		}
	}
	return v
}

// part reads a part of a group; a value of any type stands for itself.
func (r *Reader) part(t Type, depth int) Value {
	if t == ValueType {
		return r.value(depth)
	}
	return r.dataOf(t, depth)
}

func (r *Reader) array(v *Value, depth int) {
	v.Elem = Type(r.unsigned(2))
	n := r.size()
	if n == 0 || v.Elem == Undefined || r.err != nil {
		return
	}
	if layouts[v.Elem].form == formByte {
		v.Text = string(r.take(n))
		return
	}
	count := r.bounded(n, 1)
	for range count {
		v.Parts = append(v.Parts, r.part(v.Elem, depth+1))
		if r.err != nil {
			return
		}
	}
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

// mark reads the type mark of V3.
func (r *Reader) mark(want Type) {
	if r.encoding == V3 {
		r.expect(want)
	}
}

func (r *Reader) expect(want Type) {
	if got := Type(r.unsigned(2)); r.err == nil && got != want {
		r.malformed(fmt.Sprintf("a number of type %d where %d was expected", got, want))
	}
}

func (r *Reader) size() uint64 {
	r.mark(Uint64)
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

// Plain reads a value of a type that goes without saying, and without its count.
func (r *Reader) Plain(t Type) Value { return r.dataOf(t, 0) }

// Object reads a single byte object and returns a reader of it.
func (r *Reader) Object() *Reader {
	r.Count(1)
	data := r.take(r.size())
	return &Reader{encoding: r.encoding, data: data, err: r.err, values: r.values}
}

// Adopt takes over what the reader of a part of this message has found.
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
