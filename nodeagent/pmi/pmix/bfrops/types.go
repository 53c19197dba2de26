package bfrops

// Type is a PMIx data type, by its number in the standard.
type Type uint16

// The types that this package reads and writes.
const (
	Undefined      Type = 0
	Bool           Type = 1
	Byte           Type = 2
	String         Type = 3
	Size           Type = 4
	PID            Type = 5
	Int            Type = 6
	Int8           Type = 7
	Int16          Type = 8
	Int32          Type = 9
	Int64          Type = 10
	Uint           Type = 11
	Uint8          Type = 12
	Uint16         Type = 13
	Uint32         Type = 14
	Uint64         Type = 15
	Float          Type = 16
	Double         Type = 17
	TimeVal        Type = 18
	Time           Type = 19
	Status         Type = 20
	ValueType      Type = 21
	ProcType       Type = 22
	InfoType       Type = 24
	PData          Type = 25
	Buffer         Type = 26
	ByteObject     Type = 27
	KVal           Type = 28
	Persistence    Type = 30
	Pointer        Type = 31
	ScopeType      Type = 32
	Range          Type = 33
	Command        Type = 34
	Directives     Type = 35
	DataType       Type = 36
	ProcState      Type = 37
	ProcInfo       Type = 38
	DataArray      Type = 39
	Rank           Type = 40
	CompressedText Type = 42
	AllocDirective Type = 43
	IOFChannel     Type = 45
	EnvVar         Type = 46
	JobState       Type = 50
	LinkState      Type = 51
	DeviceType     Type = 57
	Locality       Type = 58
	CompressedData Type = 59
	Namespace      Type = 60
)

// form is how a type is written.
type form uint8

const (
	formNone     form = iota + 1 // nothing at all
	formByte                     // eight bits
	formUnsigned                 // of width bytes in V3
	formSigned                   // of width bytes in V3
	formSize                     // unsigned 64 bits, with a type mark in V3
	formInt                      // signed 32 bits, with a type mark in V3
	formUint                     // unsigned 32 bits, with the same mark in V3
	formPID                      // unsigned 32 bits, with a type mark in both encodings
	formText                     // length and bytes with a closing zero
	formBytes                    // size and bytes
	formValue                    // type and data
	formArray                    // type, size and elements
	formParts                    // one after the other
)

// mark returns the type that is written before a value of the form, or once before all elements of
// an array; Undefined if none is.
func (f form) mark(e Encoding) Type {
	switch {
	case f == formPID:
		return Uint32
	case e != V3: // which marks what has another width on other machines
		return Undefined
	case f == formSize:
		return Uint64
	case f == formInt || f == formUint:
		return Int32
	}
	return Undefined
}

// layout is the form of a type, the width of a number and the parts of a group.
type layout struct {
	form  form
	width int
	parts []Type
}

var layouts = map[Type]layout{
	Undefined:      {form: formNone},
	Bool:           {form: formByte},
	Byte:           {form: formByte},
	String:         {form: formText},
	Size:           {form: formSize},
	PID:            {form: formPID},
	Int:            {form: formInt},
	Int8:           {form: formByte},
	Int16:          {form: formSigned, width: 2},
	Int32:          {form: formSigned, width: 4},
	Int64:          {form: formSigned, width: 8},
	Uint:           {form: formUint},
	Uint8:          {form: formByte},
	Uint16:         {form: formUnsigned, width: 2},
	Uint32:         {form: formUnsigned, width: 4},
	Uint64:         {form: formUnsigned, width: 8},
	Float:          {form: formText},
	Double:         {form: formText},
	TimeVal:        {form: formParts, parts: []Type{Int64, Int64}},
	Time:           {form: formUnsigned, width: 8},
	Status:         {form: formSigned, width: 4},
	ValueType:      {form: formValue},
	ProcType:       {form: formParts, parts: []Type{String, Rank}},
	InfoType:       {form: formParts, parts: []Type{String, Directives, ValueType}},
	PData:          {form: formParts, parts: []Type{ProcType, String, ValueType}},
	Buffer:         {form: formParts, parts: []Type{Byte, ByteObject}},
	ByteObject:     {form: formBytes},
	KVal:           {form: formParts, parts: []Type{String, ValueType}},
	Persistence:    {form: formByte},
	Pointer:        {form: formByte},
	ScopeType:      {form: formByte},
	Range:          {form: formByte},
	Command:        {form: formByte},
	Directives:     {form: formUnsigned, width: 4},
	DataType:       {form: formUnsigned, width: 2},
	ProcState:      {form: formByte},
	ProcInfo:       {form: formParts, parts: []Type{ProcType, String, String, PID, ProcState}},
	DataArray:      {form: formArray},
	Rank:           {form: formUnsigned, width: 4},
	CompressedText: {form: formBytes},
	AllocDirective: {form: formByte},
	IOFChannel:     {form: formUnsigned, width: 2},
	EnvVar:         {form: formParts, parts: []Type{String, String, Byte}},
	JobState:       {form: formByte},
	LinkState:      {form: formByte},
	DeviceType:     {form: formUnsigned, width: 8},
	Locality:       {form: formUnsigned, width: 2},
	CompressedData: {form: formBytes},
	Namespace:      {form: formText},
}
