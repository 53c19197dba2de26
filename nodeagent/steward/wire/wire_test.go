package wire

import (
	"bytes"
	"encoding/binary"
	"errors"
	"score/nodeagent/steward/stewardpb"
	"score/scored/api/agentpb"
	"score/scored/api/scorev1"
	"testing"

	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"
)

func output(data []byte) *stewardpb.FromSteward {
	return &stewardpb.FromSteward{Message: &stewardpb.FromSteward_Output{
		Output: &scorev1.Output{Rank: 7, Stream: 2, Data: data},
	}}
}

// oddSpec is an order whose texts are not UTF-8.
func oddSpec() *stewardpb.PrepareJob {
	spec := &scorev1.JobSpec{Name: "name", Argv: []string{"a\xff", "\xfe"}, Env: []string{"A\xfd=\xfc"}, WorkDir: "/\x80"}
	return &stewardpb.PrepareJob{
		Job:      &agentpb.Prepare{Spec: spec, Preput: map[string]string{"k\xff": "v\xff"}, RestartedBecause: "\xff"},
		Programs: "/\xff", PmSocket: "/\xfe", Files: "\xff",
	}
}

// Stewards are told texts of programs byte by byte, and say such sentences.
func TestTextsAreBytes(t *testing.T) {
	status := &stewardpb.FromSteward{Message: &stewardpb.FromSteward_Status{Status: &stewardpb.Status{Order: oddSpec()}}}
	prepared := &stewardpb.FromSteward{Message: &stewardpb.FromSteward_Prepared{Prepared: &agentpb.Prepared{Error: "open /\xff"}}}
	note := &stewardpb.FromSteward{Message: &stewardpb.FromSteward_Note{Note: &agentpb.JobNote{Text: "\xff"}}}
	for _, m := range []*stewardpb.FromSteward{status, prepared, note} {
		stream, err := Append(nil, m)
		if err != nil {
			t.Fatal(err)
		}
		got := new(stewardpb.FromSteward)
		if err := proto.Unmarshal(feed(t, stream, []int{7})[0], got); err != nil || !proto.Equal(got, m) {
			t.Errorf("%v, %v", got, err)
		}
	}
}

// feed hands the stream over in pieces of the given sizes, in turn.
func feed(t rapid.TB, stream []byte, sizes []int) [][]byte {
	var d Decoder
	var bodies [][]byte
	for i := 0; len(stream) > 0; i++ {
		n := min(len(stream), sizes[i%len(sizes)], len(d.Space()))
		copy(d.Space(), stream[:n])
		d.Filled(n)
		stream = stream[n:]
		for {
			body, err := d.Next()
			if err != nil {
				t.Fatalf("next: %v", err)
			}
			if body == nil {
				break
			}
			bodies = append(bodies, bytes.Clone(body))
		}
	}
	return bodies
}

func TestRoundTripWhateverThePieces(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		lengths := rapid.SliceOfN(rapid.IntRange(0, 100_000), 1, 8).Draw(t, "lengths")
		sizes := rapid.SliceOfN(rapid.IntRange(1, 70_000), 1, 5).Draw(t, "sizes")
		var stream []byte
		var want []*stewardpb.FromSteward
		for i, n := range lengths {
			m := output(bytes.Repeat([]byte{byte(i)}, n))
			want = append(want, m)
			var err error
			if stream, err = Append(stream, m); err != nil {
				t.Fatal(err)
			}
		}
		got := feed(t, stream, sizes)
		if len(got) != len(want) {
			t.Fatalf("%d messages, want %d", len(got), len(want))
		}
		for i, body := range got {
			var m stewardpb.FromSteward
			if err := proto.Unmarshal(body, &m); err != nil || !proto.Equal(&m, want[i]) {
				t.Fatalf("message %d differs (%v)", i, err)
			}
		}
	})
}

func TestAppendDoesNotAllocate(t *testing.T) {
	m := output(make([]byte, 32<<10))
	b := make([]byte, 0, 64<<10)
	if n := testing.AllocsPerRun(100, func() { b, _ = Append(b[:0], m) }); n != 0 {
		t.Errorf("%v allocations per message, want 0", n)
	}
}

func TestDecoderKeepsNoLargeBuffer(t *testing.T) {
	stream, err := Append(nil, output(make([]byte, 4<<20)))
	if err != nil {
		t.Fatal(err)
	}
	var d Decoder
	for len(stream) > 0 {
		n := copy(d.Space(), stream)
		d.Filled(n)
		stream = stream[n:]
	}
	if body, err := d.Next(); err != nil || len(body) < 4<<20 {
		t.Fatalf("next: %d bytes, %v", len(body), err)
	}
	if n := len(d.Space()); n > KeepSize {
		t.Errorf("keeps %d bytes", n)
	}
}

func TestTooLongIsRefused(t *testing.T) {
	for _, stream := range [][]byte{
		binary.AppendUvarint(nil, MaxMessage+1),
		bytes.Repeat([]byte{0xff}, 11), // no varint at all
	} {
		var d Decoder
		d.Filled(copy(d.Space(), stream))
		if _, err := d.Next(); !errors.Is(err, ErrTooLong) {
			t.Errorf("%x: %v, want %v", stream, err, ErrTooLong)
		}
	}
	if _, err := Append(nil, output(make([]byte, MaxMessage))); !errors.Is(err, ErrTooLong) {
		t.Errorf("append: %v, want %v", err, ErrTooLong)
	}
}

func FuzzDecoder(f *testing.F) {
	seed, err := Append(nil, output([]byte("hello")))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(seed, 3)
	odd, err := Append(nil, oddSpec())
	if err != nil {
		f.Fatal(err)
	}
	f.Add(odd, 5)
	f.Add([]byte{0x80}, 1)
	f.Fuzz(func(t *testing.T, stream []byte, piece int) {
		var d Decoder
		var whole []byte
		for rest := stream; len(rest) > 0; {
			n := copy(d.Space(), rest[:min(len(rest), 1+piece&0xff)])
			d.Filled(n)
			rest = rest[n:]
			for {
				body, err := d.Next()
				if err != nil {
					return
				}
				if body == nil {
					break
				}
				whole = append(binary.AppendUvarint(whole, uint64(len(body))), body...)
			}
		}
		if len(whole) > 2*len(stream)+1 {
			t.Fatalf("%d bytes out of %d", len(whole), len(stream))
		}
	})
}
