package kvpack

import (
	"encoding/hex"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// pair is a value of a rank.
type pair struct {
	Rank       int
	Key, Value string
}

var generous = Limits{Ranks: 1 << 20, Key: 511, Value: 1 << 20}

func packed(pairs []pair) (data string, plain int) {
	p := NewPack(0)
	for _, x := range pairs {
		p.Add(x.Rank, x.Key, x.Value)
	}
	return string(p.Append(nil)), p.PlainBytes()
}

func unpacked(t testing.TB, data string, limits Limits) []pair {
	t.Helper()
	var got []pair
	err := Read(data, limits, func(rank int, key, value string) error {
		got = append(got, pair{rank, key, value})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// nodes reads the cards that real programs have put, node by node.
func nodes(t testing.TB, file string) [][]pair {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", file))
	if err != nil {
		t.Fatal(err)
	}
	var all [][]pair
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "# node") {
			all = append(all, nil)
			continue
		}
		var x pair
		if _, err := fmt.Sscanf(line, "%d %q %q", &x.Rank, &x.Key, &x.Value); err != nil {
			t.Fatalf("%s: %q: %v", file, line, err)
		}
		all[len(all)-1] = append(all[len(all)-1], x)
	}
	return all
}

// What real programs exchange takes half of its text at most, also from nodes of one or two ranks.
func TestRealCards(t *testing.T) {
	for file, maxRatio := range map[string]float64{
		"mpich-ucx.txt": 0.28, "mpich-ucx-one-rank.txt": 0.5, "mpich-ch3.txt": 0.5, "openmpi-tcp.txt": 0.5, "mpich-bcast.txt": 0.5,
	} {
		whole, text := 0, 0
		for _, pairs := range nodes(t, file) {
			data, plain := packed(pairs)
			whole, text = whole+len(data), text+plain
			if diff := cmp.Diff(pairs, unpacked(t, data, generous)); diff != "" {
				t.Errorf("%s: %s", file, diff)
			}
		}
		ratio := float64(whole) / float64(text)
		t.Logf("%s: %d bytes of text became %d: %.2f", file, text, whole, ratio)
		if ratio > maxRatio {
			t.Errorf("%s: %d bytes of text became %d: %.2f, want at most %.2f", file, text, whole, ratio, maxRatio)
		}
	}
}

// Random bytes cost what they are, and a few bytes for each rank.
func TestRandomCards(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, size := range []int{21, 256, 1024} {
		var pairs []pair
		for rank := range 64 {
			card := make([]byte, size)
			for i := range card {
				card[i] = byte(r.Uint32())
			}
			pairs = append(pairs, pair{rank, fmt.Sprintf("P%d-businesscard", rank), string(card)})
		}
		data, _ := packed(pairs)
		const perRank, perNode = 6, 40
		if maxBytes := 64*(size+perRank) + perNode; len(data) > maxBytes {
			t.Errorf("%d random bytes from each of 64 ranks became %d, want at most %d", size, len(data), maxBytes)
		}
	}
}

// The form, for whoever reads it elsewhere.
func TestFormIsPinned(t *testing.T) {
	for name, tt := range map[string]struct {
		pairs []pair
		want  string
	}{
		"nothing":  {nil, "000000"},
		"two":      {[]pair{{3, "P3-x", "\xff"}, {5, "P5-x", "AB01"}}, "0001" + "0003502d7802" + "02" + "0301" + "0004ff" + "0101" + "0011ab01"},
		"squeezed": {[]pair{{0, "k", strings.Repeat("+", 100)}}, "016f" + "0c" + "0100016b" + "000100010090032b" + "6001"},
	} {
		if data, _ := packed(tt.pairs); hex.EncodeToString([]byte(data)) != tt.want {
			t.Errorf("%s: %x, want %s", name, data, tt.want)
		}
	}
}

func anyPairs(rt *rapid.T) []pair {
	var pairs []pair
	rank := 0
	for range rapid.IntRange(0, 8).Draw(rt, "sets") {
		rank += rapid.IntRange(0, 300).Draw(rt, "gap")
		for i := range rapid.IntRange(1, 4).Draw(rt, "pairs") {
			key := rapid.OneOf(
				rapid.StringN(1, 20, 40),
				rapid.Just(fmt.Sprintf("P%d-%d", rank, i)),
				rapid.Just(fmt.Sprintf("%d%d", rank, rank)),
			).Draw(rt, "key")
			value := rapid.OneOf(
				rapid.StringN(0, 50, 200),
				rapid.StringMatching(`([0-9A-F]{2}){0,40}`), rapid.StringMatching(`([0-9a-f]{2}){0,40}`),
				rapid.Map(rapid.IntRange(0, 3000), func(n int) string { return strings.Repeat("2B32004C", n) }),
			).Draw(rt, "value")
			pairs = append(pairs, pair{rank, key, value})
		}
		rank++
	}
	return pairs
}

func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		pairs := anyPairs(rt)
		data, _ := packed(pairs)
		if diff := cmp.Diff(pairs, unpacked(t, data, generous)); diff != "" {
			rt.Fatal(diff)
		}
	})
}

// What a liar may try is found out.
func TestMalformed(t *testing.T) {
	for name, text := range map[string]string{
		"empty":              "",
		"form":               "02",
		"size of the sky":    "01ffffffff0f00",
		"bomb":               "01ffff7f" + "0161" + "8104" + "01" + "8104" + "01",
		"beyond the size":    "0102" + "03010203" + "00",
		"long match":         "018010" + "0161" + "ff0f" + "01",
		"nothing back":       "0108" + "0161" + "04" + "00",
		"far back":           "0108" + "0161" + "04" + "ff7f",
		"count of keys":      "00ff01" + "000141" + "00",
		"shared":             "0001" + "010141" + "00" + "00",
		"hole":               "0001" + "000141" + "03" + "00",
		"empty key":          "0001" + "000000" + "01" + "0001" + "0000",
		"rank":               "0001" + "00014100" + "01" + "6401" + "0000",
		"two ranks too many": "0001" + "00014100" + "02" + "3201" + "0000" + "3201" + "0000",
		"no such key":        "0001" + "00014100" + "01" + "0001" + "0100",
		"long value":         "0001" + "00014100" + "01" + "0001" + "00" + "c801" + strings.Repeat("00", 50),
		"odd hex":            "0001" + "00014100" + "01" + "0001" + "00" + "0d" + "0000",
		"fourth form":        "0001" + "00014100" + "01" + "0001" + "00" + "0b" + "0000",
		"leftover":           "000000" + "00",
		"cut":                "0001" + "00014100" + "01" + "0001" + "00" + "10" + "00",
		"endless number":     "00" + strings.Repeat("ff", 12),
	} {
		data, err := hex.DecodeString(text)
		if err != nil {
			t.Fatal(name, err)
		}
		err = Read(string(data), Limits{Ranks: 100, Key: 8, Value: 49}, func(int, string, string) error { return nil })
		if !errors.Is(err, ErrMalformed) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// An error of the reader's own ends the reading.
func TestEachFails(t *testing.T) {
	data, _ := packed([]pair{{0, "a", "b"}, {1, "a", "b"}})
	mine, n := errors.New("mine"), 0
	err := Read(data, generous, func(int, string, string) error { n++; return mine })
	if !errors.Is(err, mine) || n != 1 {
		t.Errorf("%v after %d", err, n)
	}
}

// FuzzRead reads anything: nothing beyond the limits comes out, and no more than the data can stand
// for.
func FuzzRead(f *testing.F) {
	for _, file := range []string{"mpich-ucx-one-rank.txt", "openmpi-tcp.txt", "mpich-ch3.txt"} {
		for _, pairs := range nodes(f, file) {
			data, _ := packed(pairs)
			f.Add(data)
		}
	}
	f.Add("\x01\xff\x7f\x01a\x81\x04\x01\x81\x04\x01")
	limits := Limits{Ranks: 64, Key: 64, Value: 1024}
	f.Fuzz(func(t *testing.T, data string) {
		bytes := 0
		err := Read(data, limits, func(rank int, key, value string) error {
			if rank < 0 || rank >= limits.Ranks || key == "" || len(key) > limits.Key || len(value) > limits.Value {
				t.Errorf("rank %d: %q=%q", rank, key, value)
			}
			bytes += len(value)
			return nil
		})
		if err != nil && !errors.Is(err, ErrMalformed) {
			t.Errorf("an error of its own: %v", err)
		}
		if bytes > 2*MaxGrowth*len(data) {
			t.Errorf("%d bytes became %d", len(data), bytes)
		}
	})
}

func BenchmarkNode(b *testing.B) {
	all := nodes(b, "mpich-ucx.txt")
	var pairs []pair
	for i := range 64 {
		x := all[i/4%4][i%4]
		pairs = append(pairs, pair{i, fmt.Sprintf("-allgather-shm-1-%d", i), x.Value})
	}
	data, plain := packed(pairs)
	b.Run("pack", func(b *testing.B) {
		b.SetBytes(int64(plain))
		for b.Loop() {
			packed(pairs)
		}
	})
	b.Run("read", func(b *testing.B) {
		b.SetBytes(int64(plain))
		for b.Loop() {
			if err := Read(data, generous, func(int, string, string) error { return nil }); err != nil {
				b.Fatal(err)
			}
		}
	})
}
