package bfrops

import "fmt"

// Writer packs values. Its methods have the names of Reader's.
type Writer struct {
	encoding Encoding
	data     []byte
}

// NewWriter returns a writer that appends to dst.
func NewWriter(encoding Encoding, dst []byte) *Writer { return &Writer{encoding: encoding, data: dst} }

// Bytes returns what has been written.
func (w *Writer) Bytes() []byte { return w.data }

// Raw appends data that is already packed in this encoding.
func (w *Writer) Raw(data string) { w.data = append(w.data, data...) }

// Count begins an array of n values: every value that is packed by itself is an
// array of one.
func (w *Writer) Count(n int) { w.signed(int64(n), 4) }

// One packs a single value with its count.
func (w *Writer) One(v Value) {
	w.Count(1)
	w.Data(&v)
}

// Status packs a status.
func (w *Writer) Status(code int32) {
	w.Count(1)
	w.signed(int64(code), 4)
}

// Text packs a single string.
func (w *Writer) Text(text string) {
	w.Count(1)
	w.text(text)
}

// Size packs a single size.
func (w *Writer) Size(n int) {
	w.Count(1)
	w.size(uint64(n))
}

// KVal packs a key with its value.
func (w *Writer) KVal(key string, v Value) {
	w.Count(1)
	w.text(key)
	w.Value(&v)
}

// RawKVal packs a key with a value that is already packed.
func (w *Writer) RawKVal(key, packed string) {
	w.Count(1)
	w.text(key)
	w.Raw(packed)
}

// Object packs a single byte object.
func (w *Writer) Object(data []byte) {
	w.Count(1)
	w.size(uint64(len(data)))
	w.data = append(w.data, data...)
}

// Infos packs a number of infos and then the infos.
func (w *Writer) Infos(infos []Info) {
	w.Size(len(infos))
	if len(infos) == 0 {
		return
	}
	w.Count(len(infos))
	w.infos(infos)
}

// infos packs infos without their number.
func (w *Writer) infos(infos []Info) {
	for i := range infos {
		w.text(infos[i].Key)
		w.unsigned(uint64(infos[i].Flags), 4)
		w.Value(&infos[i].Value)
	}
}

// Procs packs a number of processes and then their names.
func (w *Writer) Procs(procs []Proc) {
	w.Size(len(procs))
	if len(procs) == 0 {
		return
	}
	w.Count(len(procs))
	for _, p := range procs {
		v := NewProc(p)
		w.Data(&v)
	}
}

// Value packs a value with its type before it.
func (w *Writer) Value(v *Value) {
	w.unsigned(uint64(v.Type), 2)
	w.Data(v)
}

// Data packs a value without its type. The type must have a layout.
func (w *Writer) Data(v *Value) {
	l, ok := layouts[v.Type]
	if !ok {
		panic(fmt.Sprintf("bfrops: no layout of type %d", v.Type))
	}
	w.mark(l.form)
	w.rest(v, l)
}

// rest packs a value after the mark of its type, if the type has one.
func (w *Writer) rest(v *Value, l layout) {
	switch l.form {
	case formNone:
	case formByte:
		w.data = append(w.data, byte(v.Number))
	case formUnsigned:
		w.unsigned(v.Number, l.width)
	case formSigned:
		w.signed(v.Signed(), l.width)
	case formSize:
		w.unsigned(v.Number, 8)
	case formInt:
		w.signed(v.Signed(), 4)
	case formUint, formPID:
		w.unsigned(v.Number, 4)
	case formText:
		w.textOrNull(v.Text, v.Null)
	case formBytes:
		w.size(uint64(len(v.Text)))
		w.Raw(v.Text)
	case formValue:
		w.Value(&v.Parts[0])
	case formArray:
		w.array(v)
	case formParts:
		for i := range l.parts {
			w.part(&v.Parts[i], l.parts[i])
		}
	}
}

// part packs one part of a group; a value of any type stands for itself, so its
// own type goes before it.
func (w *Writer) part(v *Value, t Type) {
	if t == ValueType {
		w.Value(v)
		return
	}
	w.Data(v)
}

func (w *Writer) array(v *Value) {
	w.unsigned(uint64(v.Elem), 2)
	if layouts[v.Elem].form == formByte {
		w.size(uint64(len(v.Text)))
		w.Raw(v.Text)
		return
	}
	w.size(uint64(len(v.Parts)))
	if l := layouts[v.Elem]; l.form.mark(w.encoding) != Undefined && len(v.Parts) > 0 {
		w.mark(l.form)
		for i := range v.Parts {
			w.rest(&v.Parts[i], l)
		}
		return
	}
	for i := range v.Parts {
		w.part(&v.Parts[i], v.Elem)
	}
}

func (w *Writer) unsigned(n uint64, width int) {
	if w.encoding == V41 {
		w.data = appendFlex(w.data, n)
		return
	}
	w.data = appendFixed(w.data, n, width)
}

func (w *Writer) signed(n int64, width int) {
	if w.encoding == V41 {
		w.data = appendFlex(w.data, zigzag(n))
		return
	}
	w.data = appendFixed(w.data, uint64(n), width)
}

// mark writes the mark of a form, if it has one.
func (w *Writer) mark(f form) {
	if t := f.mark(w.encoding); t != Undefined {
		w.unsigned(uint64(t), 2)
	}
}

func (w *Writer) size(n uint64) {
	w.mark(formSize)
	w.unsigned(n, 8)
}

func (w *Writer) textOrNull(text string, null bool) {
	if null {
		w.signed(0, 4)
		return
	}
	w.text(text)
}

func (w *Writer) text(text string) {
	w.signed(int64(len(text))+1, 4)
	w.data = append(append(w.data, text...), 0)
}

// Encoding returns the encoding of the writer.
func (w *Writer) Encoding() Encoding { return w.encoding }

// Sub returns a writer for the content of a buffer or byte object.
func (w *Writer) Sub() *Writer { return &Writer{encoding: w.encoding} }

// Buffer packs a single buffer.
func (w *Writer) Buffer(inner *Writer) {
	w.Count(1)
	w.data = append(w.data, NotDescribed)
	w.size(uint64(len(inner.data)))
	w.data = append(w.data, inner.data...)
}

// Statuses packs an array of statuses.
func (w *Writer) Statuses(codes []int32) {
	w.Count(len(codes))
	for _, code := range codes {
		w.signed(int64(code), 4)
	}
}
