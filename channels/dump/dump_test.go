package dump

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"hash/crc32"
	"os"
	"score/channels"
	"score/channels/abi"
	"score/flowctl"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var small = abi.Geometry{Ranks: 40, LocalRanks: 2, Lanes: 4, LaneBytes: 1 << 14, SharedBytes: 1 << 14, SendBytes: 1 << 14, MaxMessage: 2000}

// newImage is the context of rank 1 with ranks 0 and 1 on its node: rank 0 has sent two messages,
// rank 39 of another node one, and for rank 35 two are kept; the first one was sent.
func newImage(t testing.TB) *channels.Image {
	t.Helper()
	img, err := channels.Create(channels.Identity{Job: 0x5ec4e7, Rank: 1, Channel: 2}, small, []uint32{0, 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { img.Close() })
	img.SetOwner(abi.RoleProcess, channels.Process{Pid: 4711, Start: 1, Space: 2})
	img.AddCounter(abi.Sent, 12)
	img.AddCounter(abi.Nacked, 3)
	_, err = img.Inbox(nil) // it offers lanes
	check(t, err)
	sender, err := img.Sender(0)
	check(t, err)
	check(t, sender.Send([]byte("first of rank 0")))
	check(t, sender.Send(bytes.Repeat([]byte("x"), 1500)))
	in, err := img.Delivery()
	check(t, err)
	check(t, in.Whole(39, []byte("from afar")))
	s, r, err := img.Flow(35)
	check(t, err)
	s.Reset(100)
	buffer := img.SendBuffer()
	for i, text := range []string{"kept and sent", "kept only"} {
		k, to, err := buffer.Reserve(len(text))
		check(t, err)
		copy(to, text)
		check(t, buffer.Append(35, k, 100+flowctl.Seq(i), 1))
		s.Queue(1)
	}
	config := flowctl.DefaultConfig()
	s.Send(&config, 1, 1)
	r.OnData(&config, 1, flowctl.Data{Tx: 1}, 1)
	img.SetAway(true)
	return img
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

var exampleHead = Head{Job: 7, Rank: 1, Channel: 2, Node: "n1", TakenNanos: 1e18, GangOn: true}

// dumped is a file of the image.
func dumped(t testing.TB, img *channels.Image) []byte {
	t.Helper()
	pages, err := Collect(img.File(), 1<<20)
	check(t, err)
	if !pages.Still(img.File()) {
		t.Fatal("nobody changed it")
	}
	var file bytes.Buffer
	check(t, Write(&file, exampleHead, pages))
	return file.Bytes()
}

// TestRoundTrip: the file has what is in an image, but for the job's key.
func TestRoundTrip(t *testing.T) {
	img := newImage(t)
	file := dumped(t, img)
	key := binary.LittleEndian.AppendUint64(nil, img.Job)
	if bytes.Contains(file, key) {
		t.Error("the job's key is in the file")
	}
	if len(file) > 20*abi.PageBytes {
		t.Errorf("a file of %d bytes for a nearly empty image", len(file))
	}
	d, err := Read(bytes.NewReader(file))
	check(t, err)
	defer d.Close()
	report := d.Report()
	if report.Head != exampleHead || report.Counters["sent"] != 12 || report.Counters["nacked"] != 3 {
		t.Errorf("head %+v, counters %v", report.Head, report.Counters)
	}
	report.Counters = nil
	got, err := json.MarshalIndent(report, "", "  ")
	check(t, err)
	const golden = "testdata/report.json"
	if os.Getenv("UPDATE") != "" {
		check(t, os.WriteFile(golden, append(got, '\n'), 0o644))
	}
	want, err := os.ReadFile(golden)
	check(t, err)
	if diff := cmp.Diff(strings.TrimSpace(string(want)), string(got)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestChangesAreNoticed: whatever changes after an image was collected is noticed, in pages that
// were empty before as well.
func TestChangesAreNoticed(t *testing.T) {
	img := newImage(t)
	changes := map[string]func(){
		"a counter":        func() { img.AddCounter(abi.Sent, 1) },
		"a page in use":    func() { img.SetAway(false) },
		"an unused region": func() { _, _, err := img.SendBuffer().Reserve(2000); check(t, err) },
	}
	for name, change := range changes {
		pages, err := Collect(img.File(), 1<<20)
		check(t, err)
		change()
		if pages.Still(img.File()) {
			t.Errorf("%s changed, and it is still", name)
		}
	}
	if _, err := Collect(img.File(), 2*abi.PageBytes); !errors.Is(err, ErrTooLarge) {
		t.Errorf("error %v", err)
	}
}

// TestDamagedFiles: each gives an error, and none is read.
func TestDamagedFiles(t *testing.T) {
	good := dumped(t, newImage(t))
	changed := func(at int, b byte) []byte {
		file := bytes.Clone(good)
		file[(at+len(file))%len(file)] ^= b
		return file
	}
	summed := func(file []byte) []byte {
		file = bytes.Clone(file)
		body := file[:len(file)-4]
		binary.LittleEndian.PutUint32(file[len(body):], crc32.Checksum(body, castagnoli))
		return file
	}
	first := bytes.Index(good, []byte("SCOREctx"))
	files := []struct {
		name string
		file []byte
		want error
	}{
		{"empty", nil, ErrNoDump},
		{"text", []byte("#!/bin/sh\necho hello\n"), ErrNoDump},
		{"another version", changed(8, 3), ErrVersion},
		{"a head without end", changed(15, 0x80), ErrDamaged},
		{"a head that is no JSON", changed(16, 1), ErrDamaged},
		{"cut off", good[:len(good)-1], ErrDamaged},
		{"a bit of a page", changed(-2000, 1), ErrDamaged},
		{"the sum", changed(-1, 1), ErrDamaged},
		{"no image in it", summed(changed(first, 1)), abi.ErrMagic},
		{"an image of another size", summed(changed(first+16, 1)), abi.ErrHeader},
		{"a page twice", summed(changed(first+abi.PageBytes, 1)), ErrDamaged},
	}
	for _, f := range files {
		d, err := Read(bytes.NewReader(f.file))
		if !errors.Is(err, f.want) {
			t.Errorf("%s: error %v, want %v", f.name, err, f.want)
		}
		if d != nil {
			t.Errorf("%s was read", f.name)
		}
	}
}

// FuzzRead: no file makes the reader panic, or work without end. The sum is made right, or all
// would be refused at the same place.
func FuzzRead(f *testing.F) {
	good := dumped(f, newImage(f))
	f.Add(good)
	f.Add(good[:100])
	for i := 0; i < len(good); i += 1009 {
		file := bytes.Clone(good)
		file[i] ^= 0x55
		f.Add(file)
	}
	f.Fuzz(func(t *testing.T, file []byte) {
		if len(file) > 4 {
			file = bytes.Clone(file)
			body := file[:len(file)-4]
			binary.LittleEndian.PutUint32(file[len(body):], crc32.Checksum(body, castagnoli))
		}
		d, err := Read(bytes.NewReader(file))
		if err != nil {
			return
		}
		d.Report()
		check(t, d.Close())
	})
}

// TestWriteFails hands on what the writer says.
func TestWriteFails(t *testing.T) {
	pages, err := Collect(newImage(t).File(), 1<<20)
	check(t, err)
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip(err)
	}
	defer full.Close()
	if err := Write(full, exampleHead, pages); err == nil {
		t.Error("written to a full device")
	}
}
