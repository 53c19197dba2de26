package bfrops

import "fmt"

// NotDescribed is the kind of a buffer that holds values without their types.
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

// dataOf reads a value of type t.
func (r *Reader) dataOf(t Type, depth int) Value {
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
	r.mark(l.form)
	return r.rest(t, l, depth)
}

// rest reads a value after the mark of its type, if the type has one.
func (r *Reader) rest(t Type, l layout, depth int) Value {
	v := Value{Type: t}
	switch l.form {
	case formNone:
	case formByte:
		v.Number = uint64(r.byte())
	case formUnsigned:
		v.Number = r.unsigned(l.width)
	case formSigned:
		v.Number = uint64(r.signed(l.width))
	case formSize:
		v.Number = r.unsigned(8)
	case formInt:
		v.Number = uint64(r.signed(4))
	case formUint, formPID:
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
	l := layouts[v.Elem]
	if l.form == formByte {
		v.Text = string(r.take(n))
		return
	}
	count := r.bounded(n, 1)
	next := func() Value { return r.part(v.Elem, depth+1) }
	if l.form.mark(r.encoding) != Undefined {
		r.mark(l.form)
		next = func() Value { return r.rest(v.Elem, l, depth+1) }
	}
	for range count {
		v.Parts = append(v.Parts, next())
		if r.err != nil {
			return
		}
	}
}

// Plain reads a value of a known type, without its count.
func (r *Reader) Plain(t Type) Value { return r.dataOf(t, 0) }
