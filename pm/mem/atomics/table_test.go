package atomics

import (
	"errors"
	"math"
	"math/big"
	"slices"
	"testing"
)

// samples are the bits of interesting numbers of a type; all pairs of them are tried. Of 8-bit
// types all numbers are.
func samples(kind Type) (bits []uint64) {
	switch kind {
	case Int8, Uint8:
		for v := range 256 {
			bits = append(bits, uint64(v))
		}
	case Float32:
		for _, v := range floats() {
			bits = append(bits, uint64(math.Float32bits(float32(v))))
		}
		bits = append(bits, 1, 0x7f7fffff) // the smallest and the largest
	case Float64:
		for _, v := range floats() {
			bits = append(bits, math.Float64bits(v))
		}
		bits = append(bits, 1, 0x7fefffffffffffff)
	default:
		width := uint(8 * kind.Size())
		mask := ^uint64(0) >> (64 - width)
		for _, v := range []uint64{0, 1, 2, 3, 7, 10, 255, 256, 0x5555555555555555, 0xaaaaaaaaaaaaaaaa, 12345678901234567} {
			for _, w := range []uint64{v, -v, v + 1<<(width-1), ^v, v << (width / 2)} {
				bits = append(bits, w&mask)
			}
		}
	}
	return bits
}

func floats() []float64 {
	return []float64{0, math.Copysign(0, -1), 1, -1, 2.5, -0.1, 1e30, -1e30, math.Inf(1), math.Inf(-1), math.NaN()}
}

// want computes the result another way: integers as numbers of any size, floating point by cases.
func want(t *testing.T, op Op, kind Type, a, b uint64) uint64 {
	t.Helper()
	if op == Replace {
		return b
	}
	if op == NoOp {
		return a
	}
	switch kind {
	case Float32:
		v := wantFloat(op, float64(math.Float32frombits(uint32(a))), float64(math.Float32frombits(uint32(b))))
		return uint64(math.Float32bits(float32(v)))
	case Float64:
		return math.Float64bits(wantFloat(op, math.Float64frombits(a), math.Float64frombits(b)))
	default:
		return wantInteger(op, kind, a, b)
	}
}

func wantInteger(op Op, kind Type, a, b uint64) uint64 {
	width := uint(8 * kind.Size())
	x, y, z := signed(kind, a), signed(kind, b), new(big.Int)
	switch op {
	case Sum:
		z.Add(x, y)
	case Prod:
		z.Mul(x, y)
	case Min:
		z = x
		if y.Cmp(x) < 0 {
			z = y
		}
	case Max:
		z = x
		if y.Cmp(x) > 0 {
			z = y
		}
	case BAnd:
		z.And(x, y)
	case BOr:
		z.Or(x, y)
	case BXor:
		z.Xor(x, y)
	default:
		z.SetInt64(int64(wantLogical(op, x.Sign() != 0, y.Sign() != 0)))
	}
	return z.And(z, new(big.Int).SetUint64(^uint64(0)>>(64-width))).Uint64()
}

func signed(kind Type, bits uint64) *big.Int {
	v := new(big.Int).SetUint64(bits)
	width := uint(8 * kind.Size())
	if kind <= Int64 && v.Bit(int(width-1)) == 1 {
		v.Sub(v, new(big.Int).Lsh(big.NewInt(1), width))
	}
	return v
}

func wantFloat(op Op, a, b float64) float64 {
	if (op == Min || op == Max) && (math.IsNaN(a) || math.IsNaN(b)) {
		return math.NaN() // math.Min prefers an infinity
	}
	switch op {
	case Sum:
		return a + b
	case Prod:
		return a * b
	case Min:
		return math.Min(a, b)
	case Max:
		return math.Max(a, b)
	default:
		return float64(wantLogical(op, a != 0, b != 0))
	}
}

func wantLogical(op Op, a, b bool) int {
	n := 0
	for _, v := range []bool{a, b} {
		if v {
			n++
		}
	}
	is := map[Op]bool{LAnd: n == 2, LOr: n > 0, LXor: n == 1}[op]
	if is {
		return 1
	}
	return 0
}

// same compares bits; all NaN are the same.
func same(kind Type, a, b uint64) bool {
	switch kind {
	case Float32:
		x, y := math.Float32frombits(uint32(a)), math.Float32frombits(uint32(b))
		return a == b || x != x && y != y
	case Float64:
		x, y := math.Float64frombits(a), math.Float64frombits(b)
		return a == b || x != x && y != y
	default:
		return a == b
	}
}

// words is memory whose address is a multiple of 8.
func words(n int) []byte {
	b := make([]byte, n+8)
	for at := range 8 {
		if aligned(b[at:], 8) {
			return b[at : at+n : at+n]
		}
	}
	panic("no aligned address in eight")
}

func TestTable(t *testing.T) {
	for op := range ops {
		for kind := range types {
			f, ok := Lookup(op, kind)
			if bitwise := op == BAnd || op == BOr || op == BXor; ok == (bitwise && kind >= Float32) {
				t.Fatalf("%v of %v: there is a function: %v", op, kind, ok)
			}
			if ok {
				tryPairs(t, op, kind, f)
			}
		}
	}
}

// tryPairs applies vectors of each length up to eight elements, in memory whose neighbours must
// stay.
func tryPairs(t *testing.T, op Op, kind Type, f Func) {
	t.Helper()
	size, numbers := kind.Size(), samples(kind)
	memory, operand, result := words(64+16), make([]byte, 64+1), make([]byte, 64+1)
	for i, a := range numbers {
		for j, b := range numbers {
			n := (i+j)%8 + 1
			for k := range memory {
				memory[k] = 0xa5
			}
			first := 8 + size*(j%(8/size))
			target := memory[first : first+(n-1)*size+size]
			if first+n*size > len(memory)-8 {
				n = 1
				target = memory[first : first+size]
			}
			for k := range n {
				store(target[k*size:], size, a)
				store(operand[1+k*size:], size, b)
			}
			err := f(target, operand[1:1+n*size], result[1:1+n*size])
			if err != nil {
				t.Fatalf("%v of %v: %v", op, kind, err)
			}
			checkPair(t, op, kind, a, b, target, result[1:1+n*size])
			for k, v := range memory {
				if (k < first || k >= first+n*size) && v != 0xa5 {
					t.Fatalf("%v of %v changed the byte beside the vector", op, kind)
				}
			}
		}
	}
}

func checkPair(t *testing.T, op Op, kind Type, a, b uint64, target, result []byte) {
	t.Helper()
	size, expected := kind.Size(), want(t, op, kind, a, b)
	for at := 0; at < len(target); at += size {
		if got := load(target[at:], size); !same(kind, got, expected) {
			t.Fatalf("%v of %v: %#x and %#x are %#x, want %#x", op, kind, a, b, got, expected)
		}
		if got := load(result[at:], size); got != a {
			t.Fatalf("%v of %v: was %#x, returned %#x", op, kind, a, got)
		}
	}
}

func TestWithoutResult(t *testing.T) {
	for op := range ops {
		for kind := range types {
			f, ok := Lookup(op, kind)
			if !ok {
				continue
			}
			target, operand := words(8), make([]byte, 8)
			operand[0], target[0] = 3, 5
			expected := want(t, op, kind, load(target, kind.Size()), load(operand, kind.Size()))
			if err := f(target[:kind.Size()], operand[:kind.Size()], nil); err != nil {
				t.Fatal(err)
			}
			if got := load(target, kind.Size()); !same(kind, got, expected) {
				t.Errorf("%v of %v: %#x, want %#x", op, kind, got, expected)
			}
		}
	}
	f, _ := Lookup(NoOp, Int16)
	target, result := []byte{0: 7, 7: 0}, make([]byte, 2)
	if err := f(target[:2], nil, result); err != nil || result[0] != 7 {
		t.Errorf("reading without operand: %v, %v", result, err)
	}
}

func TestVectorErrors(t *testing.T) {
	sum, _ := Lookup(Sum, Int32)
	m := words(16)
	before := slices.Clone(m)
	b := func(n int) []byte { return make([]byte, n) }
	for _, c := range []struct {
		name                    string
		target, operand, result []byte
		want                    error
	}{
		{"part of an element", m[:6], b(6), nil, ErrLength},
		{"operand too short", m[:8], b(4), nil, ErrLength},
		{"operand too long", m[:8], b(12), nil, ErrLength},
		{"no operand", m[:8], nil, nil, ErrLength},
		{"result too short", m[:8], b(8), b(4), ErrLength},
		{"empty result", m[:8], b(8), []byte{}, ErrLength},
		{"odd address", m[1:9], b(8), nil, ErrAlign},
		{"half a word", m[2:6], b(4), b(4), ErrAlign},
		{"nothing", m[:0], nil, nil, nil},
		{"right", m[:8], b(8), b(8), nil},
	} {
		if err := sum(c.target, c.operand, c.result); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", c.name, err, c.want)
		}
		cas := CompareAndSwap(Int32, c.target, b(len(c.target)), c.operand, c.result)
		if len(c.target) > 0 && !errors.Is(cas, c.want) {
			t.Errorf("%s: compare and swap: %v, want %v", c.name, cas, c.want)
		}
	}
	if err := CompareAndSwap(Int32, m[:8], b(4), b(8), nil); !errors.Is(err, ErrLength) {
		t.Errorf("short compare: %v", err)
	}
	if err := CompareAndSwap(types, m[:8], b(8), b(8), nil); !errors.Is(err, ErrLength) {
		t.Errorf("no type: %v", err)
	}
	if !slices.Equal(m, before) {
		t.Errorf("memory changed: %v", m)
	}
}

func TestCompareAndSwapOfAllTypes(t *testing.T) {
	for kind := range types {
		size := kind.Size()
		target, compare := words(8), make([]byte, 8)
		operand, result := []byte{9, 9, 9, 9, 9, 9, 9, 9}, make([]byte, 8)
		for i := range 8 {
			target[i], compare[i] = byte(i+1), byte(i+1)
		}
		compare[size-1] ^= 0x80 // the first element differs
		if err := CompareAndSwap(kind, target, compare, operand, result); err != nil {
			t.Fatal(err)
		}
		for i := range 8 {
			now := byte(9)
			if i < size {
				now = byte(i + 1)
			}
			if target[i] != now || result[i] != byte(i+1) {
				t.Errorf("%v, byte %d: %d, was %d", kind, i, target[i], result[i])
			}
		}
	}
}

func TestLookupOfNothing(t *testing.T) {
	for _, c := range []struct {
		op   Op
		kind Type
	}{{ops, Int8}, {255, Int8}, {Sum, types}, {Sum, 255}} {
		if f, ok := Lookup(c.op, c.kind); ok || f != nil {
			t.Errorf("%v of %v exists", c.op, c.kind)
		}
	}
	for o := Op(0); o < ops; o++ {
		if o.String() == "" {
			t.Errorf("operation %d has no name", o)
		}
	}
	for k := Type(0); k < types; k++ {
		if k.String() == "" || k.Size() == 0 {
			t.Errorf("type %d: %q, %d bytes", k, k, k.Size())
		}
	}
	if ops.String() != "operation 12" || types.String() != "type 10" || types.Size() != 0 {
		t.Error(ops, types, types.Size())
	}
}
