package backup

import (
	"bytes"
	"errors"
	"testing"
	"testing/iotest"
)

var example = Head{Cluster: "lab", Version: "v1", Term: 7, SavedNanos: 1_700_000_000_000_000_000}

func file(t testing.TB, state []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	if err := Write(&out, example, state); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func TestWhatIsWrittenIsRead(t *testing.T) {
	for _, size := range []int{0, 1, step - 1, step, 3*step + 7} {
		state := bytes.Repeat([]byte("ocean"), size/5+1)[:size]
		head, got, err := Read(iotest.HalfReader(bytes.NewReader(file(t, state))))
		if err != nil || head != example || !bytes.Equal(got, state) {
			t.Errorf("%d bytes: %+v, %d, %v", size, head, len(got), err)
		}
	}
}

// The bytes of version 1, which later versions must read.
func TestFormatIsPinned(t *testing.T) {
	got := file(t, []byte("state"))
	const head = `{"cluster":"lab","version":"v1","term":7,"saved_nanos":1700000000000000000}`
	if want := "\x89SCORE\r\n\x01\x00\x00\x00" + string(rune(len(head))) + "\x00\x00\x00" + head; !bytes.HasPrefix(got, []byte(want)) {
		t.Fatalf("it begins with %q, not %q", got, want)
	}
	if end := got[len(got)-32-8-5:]; string(end[:13]) != "\x05\x00\x00\x00\x00\x00\x00\x00state" {
		t.Errorf("before the digest is %q", end[:13])
	}
}

func TestEveryFlippedBitIsRefused(t *testing.T) {
	whole := file(t, []byte("the state"))
	for i := range 8 * len(whole) {
		flipped := bytes.Clone(whole)
		flipped[i/8] ^= 1 << (i % 8)
		_, _, err := Read(bytes.NewReader(flipped))
		if !errors.Is(err, ErrNoBackup) && !errors.Is(err, ErrVersion) && !errors.Is(err, ErrDamaged) {
			t.Errorf("bit %d: %v", i, err)
		}
	}
	for n := range len(whole) {
		if _, _, err := Read(bytes.NewReader(whole[:n])); !errors.Is(err, ErrNoBackup) && !errors.Is(err, ErrDamaged) {
			t.Errorf("%d bytes: %v", n, err)
		}
	}
	if _, _, err := Read(bytes.NewReader(append(whole, 0))); !errors.Is(err, ErrDamaged) {
		t.Errorf("one byte more: %v", err)
	}
}

func TestReaderFails(t *testing.T) {
	broken := errors.New("broken")
	for _, n := range []int64{0, 10, 40, 100} {
		from := iotest.DataErrReader(&limited{bytes.NewReader(file(t, make([]byte, 200))), n, broken})
		if _, _, err := Read(from); !errors.Is(err, broken) {
			t.Errorf("after %d bytes: %v", n, err)
		}
	}
}

// limited ends with an error of its own.
type limited struct {
	from *bytes.Reader
	left int64
	err  error
}

func (l *limited) Read(p []byte) (int, error) {
	if l.left == 0 {
		return 0, l.err
	}
	n, err := l.from.Read(p[:min(int64(len(p)), l.left)])
	l.left -= int64(n)
	return n, err
}

// Whatever is read is what was written, or an error; a length that lies costs no memory.
func FuzzRead(f *testing.F) {
	f.Add(file(f, []byte("state")))
	f.Add([]byte(magic + "\x01\x00\x00\x00\x02\x00\x00\x00{}\xff\xff\xff\xff\x00\x00\x00\x00"))
	f.Fuzz(func(t *testing.T, data []byte) {
		head, state, err := Read(bytes.NewReader(data))
		if err != nil {
			return
		}
		var again bytes.Buffer
		if err := Write(&again, head, state); err != nil {
			t.Fatal(err)
		}
		if h, s, err := Read(&again); err != nil || h != head || !bytes.Equal(s, state) {
			t.Fatalf("%+v, %v", h, err)
		}
	})
}
