package bfrops

import (
	"bytes"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var samples = []Value{
	{},
	NewBool(true),
	{Type: Byte, Number: 0xff},
	NewString("text"),
	{Type: String, Null: true},
	NewString(""),
	NewNumber(Size, math.MaxUint64),
	NewNumber(PID, 4711),
	{Type: Int, Number: uint64(math.MaxUint64)}, // -1
	{Type: Int16, Number: 0xffff_ffff_ffff_8000},
	{Type: Int64, Number: 1 << 63},
	NewNumber(Uint, 7),
	NewNumber(Uint16, 0xffff),
	NewNumber(Uint64, 1<<63),
	{Type: Double, Text: "0.500000"},
	{Type: TimeVal, Parts: []Value{{Type: Int64, Number: 1}, {Type: Int64, Number: 2}}},
	NewNumber(Time, 1<<40),
	{Type: Status, Number: 0xffff_ffff_ffff_ffd2},
	NewProc(Proc{"job", Wildcard}),
	NewBytes([]byte{0, 1, 2}),
	{Type: DataArray, Elem: Uint8, Text: "bytes"},
	{Type: DataArray, Elem: Uint32, Parts: []Value{NewNumber(Uint32, 1), NewNumber(Uint32, 300)}},
	{Type: DataArray, Elem: Size, Parts: []Value{NewNumber(Size, 1), NewNumber(Size, 1<<50)}},
	{Type: DataArray, Elem: PID, Parts: []Value{NewNumber(PID, 1), NewNumber(PID, 2)}},
	{Type: DataArray},
	{Type: DataArray, Elem: ValueType, Parts: []Value{NewBool(true), {Type: ValueType, Parts: []Value{NewString("inner")}}}},
	NewInfos(Info{Key: "a", Value: NewInfos(Info{Key: "b", Value: NewString("deep")})}),
	{Type: EnvVar, Parts: []Value{NewString("PATH"), NewString("/bin"), {Type: Byte, Number: ':'}}},
	{Type: CompressedText, Text: "x"},
	{Type: ProcInfo, Parts: []Value{NewProc(Proc{"job", 1}), NewString("host"), NewString("program"), NewNumber(PID, 9), NewNumber(ProcState, 4)}},
}

func TestValues(t *testing.T) {
	for _, encoding := range []Encoding{V41, V3} {
		for _, v := range samples {
			w := NewWriter(encoding, nil)
			w.Value(&v)
			r := NewReader(encoding, w.Bytes())
			got := r.Value()
			if diff := cmp.Diff(v, got); diff != "" || r.Err() != nil || r.Left() > 0 {
				t.Errorf("%v in %v: %v, %d bytes left\n%s", v.Type, encoding, r.Err(), r.Left(), diff)
			}
			for n := range w.Bytes() {
				r := NewReader(encoding, w.Bytes()[:n])
				if r.Value(); !errors.Is(r.Err(), ErrMalformed) {
					t.Fatalf("type %v in %v cut to %d bytes: %v", v.Type, encoding, n, r.Err())
				}
			}
		}
	}
}

// TestNumbersOnTheWire pins the two ways of writing numbers.
func TestNumbersOnTheWire(t *testing.T) {
	for _, test := range []struct {
		encoding Encoding
		value    Value
		want     string
	}{
		{V41, NewNumber(Rank, uint64(Wildcard)), "\xfe\xff\xff\xff\x0f"},
		{V41, Value{Type: Status, Number: 0xffff_ffff_ffff_ff6d}, "\xa5\x02"},
		{V41, NewNumber(Uint64, math.MaxUint64), "\xff\xff\xff\xff\xff\xff\xff\xff\xff"},
		{V41, NewNumber(PID, 1), "\x0e\x01"},
		{V41, NewString("ab"), "\x06ab\x00"},
		{V3, NewNumber(Size, 1), "\x00\x0f\x00\x00\x00\x00\x00\x00\x00\x01"},
		{V3, NewNumber(Rank, uint64(Wildcard)), "\xff\xff\xff\xfe"},
		{V3, Value{Type: Int, Number: 2}, "\x00\x09\x00\x00\x00\x02"},
		{V3, NewNumber(PID, 1), "\x00\x0e\x00\x00\x00\x01"},
		{V3, NewString("ab"), "\x00\x00\x00\x03ab\x00"},
		{
			V3,
			Value{Type: DataArray, Elem: Int, Parts: []Value{{Type: Int, Number: 2}, {Type: Int, Number: 3}}},
			"\x00\x06\x00\x0f\x00\x00\x00\x00\x00\x00\x00\x02\x00\x09\x00\x00\x00\x02\x00\x00\x00\x03",
		},
		{V41, Value{Type: DataArray, Elem: PID, Parts: []Value{NewNumber(PID, 1), NewNumber(PID, 2)}}, "\x05\x02\x0e\x01\x02"},
	} {
		w := NewWriter(test.encoding, nil)
		w.Data(&test.value)
		if got := string(w.Bytes()); got != test.want {
			t.Errorf("type %d in %v: %q, want %q", test.value.Type, test.encoding, got, test.want)
		}
	}
}

func TestHostileValues(t *testing.T) {
	deep := append([]byte{byte(DataArray)}, bytes.Repeat([]byte{byte(DataArray), 1}, MaxDepth+2)...)
	for name, test := range map[string]struct {
		encoding Encoding
		data     string
		want     error
	}{
		"unknown type":               {V41, "\x35x", ErrType},
		"unknown type in an array":   {V41, "\x27\x35\x01x", ErrType},
		"array longer than it is":    {V41, "\x27\x0e\xff\xff\xff\xff\x0f\x01", ErrMalformed},
		"bytes longer than they are": {V41, "\x1b\xff\xff\xff\xff\xff\xff\xff\xff\xff", ErrMalformed},
		"negative string":            {V41, "\x03\x01", ErrMalformed},
		"string without its end":     {V41, "\x03\x04ab", ErrMalformed},
		"number too large":           {V41, "\x0d\xff\xff\x7f", ErrMalformed},
		"too deep":                   {V41, string(deep), ErrTooMany},
		"wrong mark":                 {V3, "\x00\x04\x00\x0e\x00\x00\x00\x00\x00\x00\x00\x00", ErrMalformed},
		"too many":                   {V41, "\x27\x0e\x80\x80\x40" + strings.Repeat("\x01", 1<<20), ErrTooMany},
	} {
		r := NewReader(test.encoding, []byte(test.data))
		if r.Value(); !errors.Is(r.Err(), test.want) {
			t.Errorf("%s: %v", name, r.Err())
		}
	}
}

func FuzzValue(f *testing.F) {
	for _, v := range samples {
		for _, encoding := range []Encoding{V41, V3} {
			w := NewWriter(encoding, nil)
			w.Value(&v)
			f.Add(w.Bytes(), encoding == V41)
		}
	}
	f.Fuzz(func(t *testing.T, data []byte, flexible bool) {
		encoding := V3
		if flexible {
			encoding = V41
		}
		r := NewReader(encoding, data)
		v := r.Value()
		if r.Err() != nil {
			return
		}
		w := NewWriter(encoding, nil)
		w.Value(&v)
		again := NewReader(encoding, w.Bytes())
		if diff := cmp.Diff(v, again.Value()); diff != "" || again.Err() != nil {
			t.Error(again.Err(), diff)
		}
	})
}
