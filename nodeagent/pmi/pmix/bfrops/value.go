package bfrops

// Value is one value of any type.
type Value struct {
	Type Type
	// Number holds numbers; a signed number as its 64-bit pattern, a bool as 0 or 1.
	Number uint64
	// Text holds strings, byte objects and decimal fractions.
	Text string
	// Null marks a null string, which differs from an empty one.
	Null bool
	// Elem is the type of an array's elements, which are in Parts.
	Elem Type
	// Parts are the parts of a group, the elements of an array, or the content of a value of type
	// ValueType. Arrays of bytes are in Text instead.
	Parts []Value
}

// Signed returns the number of a signed type.
func (v *Value) Signed() int64 { return int64(v.Number) }

// True reports whether the value is a flag that is set. A directive without a value counts as set,
// as in libpmix.
func (v *Value) True() bool {
	return v.Type == Undefined || v.Type == Bool && v.Number != 0
}

// NewBool makes a flag.
func NewBool(set bool) Value {
	if set {
		return Value{Type: Bool, Number: 1}
	}
	return Value{Type: Bool}
}

// NewString makes a string.
func NewString(text string) Value { return Value{Type: String, Text: text} }

// NewNumber makes an unsigned number of any type that holds one.
func NewNumber(t Type, n uint64) Value { return Value{Type: t, Number: n} }

// NewBytes makes a byte object.
func NewBytes(data []byte) Value { return Value{Type: ByteObject, Text: string(data)} }

// NewProc makes the name of a process.
func NewProc(p Proc) Value {
	return Value{Type: ProcType, Parts: []Value{NewString(p.Namespace), NewNumber(Rank, uint64(p.Rank))}}
}

// NewInfos makes an array of infos.
func NewInfos(infos ...Info) Value {
	array := Value{Type: DataArray, Elem: InfoType, Parts: make([]Value, len(infos))}
	for i := range infos {
		flags := infos[i].Flags
		if i == len(infos)-1 {
			flags |= lastInfo
		}
		array.Parts[i] = Value{Type: InfoType, Parts: []Value{
			NewString(infos[i].Key), NewNumber(Directives, uint64(flags)), infos[i].Value,
		}}
	}
	return array
}

// lastInfo is the flag on the last element of an array of infos.
const lastInfo = 2

// Proc names a process: a rank of a namespace, which is a job.
type Proc struct {
	Namespace string
	Rank      uint32
}

// Wildcard is the rank that stands for all of a namespace.
const Wildcard uint32 = 0xfffffffe

// Undef stands for a rank that is not known.
const Undef uint32 = 0xffffffff

// Info is a key with a value, and flags that say how binding it is.
type Info struct {
	Key   string
	Flags uint32
	Value Value
}

// Infos are the directives of a request.
type Infos []Info

// Find returns the value of a key; nil if there is none.
func (l Infos) Find(key string) *Value {
	for i := range l {
		if l[i].Key == key {
			return &l[i].Value
		}
	}
	return nil
}

// True reports whether the directive is given and set.
func (l Infos) True(key string) bool {
	v := l.Find(key)
	return v != nil && v.True()
}

// App is one command of a spawn request.
type App struct {
	Command  string
	Args     []string // with the command's own name first
	Env      []string
	Dir      string
	MaxProcs int64
	Infos    Infos
}

// Query is one question about the system.
type Query struct {
	Keys       []string
	Qualifiers Infos
}
