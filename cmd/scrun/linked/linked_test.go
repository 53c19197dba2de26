package linked

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// build makes a program of the module, in the given way.
func build(tb testing.TB, pkg string, args ...string) string {
	tb.Helper()
	out := filepath.Join(tb.TempDir(), "program")
	command := exec.Command("go", append(append([]string{"build", "-o", out}, args...), pkg)...)
	if text, err := command.CombinedOutput(); err != nil {
		tb.Fatalf("%v\n%s", err, text)
	}
	return out
}

// TestPrograms looks at programs as users build them.
func TestPrograms(t *testing.T) {
	for _, c := range []struct {
		name, pkg string
		args      []string
		want      bool
	}{
		{"plain", "score/examples/pm/ring", nil, true},
		{"stripped by the linker", "score/examples/pm/ring", []string{"-ldflags=-s -w"}, true},
		{"position-independent", "score/examples/pm/ring", []string{"-buildmode=pie", "-ldflags=-s -w"}, true},
		{"without inlining", "score/examples/pm/ring", []string{"-gcflags=all=-l"}, true},
		{"without the package", "score/examples/demo", []string{"-ldflags=-s -w"}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if got := PM(build(t, c.pkg, c.args...)); got != c.want {
				t.Errorf("%v, want %v", got, c.want)
			}
		})
	}
}

// TestStrip: the tool strip leaves the table, too.
func TestStrip(t *testing.T) {
	strip, err := exec.LookPath("strip")
	if err != nil {
		t.Skip("there is no strip here")
	}
	program := build(t, "score/examples/pm/ring")
	if text, err := exec.Command(strip, program).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	if !PM(program) {
		t.Error("not found after strip")
	}
}

// TestNotPrograms: whatever is no Go program has not the package, and does not hold up.
func TestNotPrograms(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
		return path
	}
	for _, path := range []string{
		dir, filepath.Join(dir, "missing"), "/bin/sh", "/dev/zero",
		write("empty", ""), write("script", "#!/bin/sh\n# "+marker), write("short", "\x7fELF\x02\x01"),
		write("zeros", "\x7fELF\x02\x01"+strings.Repeat("\x00", 1000)),
	} {
		if PM(path) {
			t.Errorf("%s has package pm", path)
		}
	}
}

// TestHasMarker: the marker may lie across two reads, and is not looked for beyond the part.
func TestHasMarker(t *testing.T) {
	for _, at := range []int{0, 1, chunk - len(marker), chunk - 3, chunk, 2*chunk - 1, 3*chunk - len(marker)} {
		data := bytes.Repeat([]byte{'x'}, 3*chunk)
		copy(data[at:], marker)
		r := bytes.NewReader(data)
		if !hasMarker(r, span{0, uint64(len(data))}) {
			t.Errorf("at %d: not found", at)
		}
		if hasMarker(r, span{0, uint64(at + len(marker) - 1)}) {
			t.Errorf("at %d: found beyond the part", at)
		}
	}
	if hasMarker(bytes.NewReader(nil), span{0, 10}) || hasMarker(bytes.NewReader(nil), span{1 << 63, 10}) {
		t.Error("found beyond the file")
	}
}

// FuzzFind: a file may say anything.
func FuzzFind(f *testing.F) {
	program, err := os.ReadFile(build(f, "score/examples/pm/ring", "-ldflags=-s -w"))
	if err != nil {
		f.Fatal(err)
	}
	table, err := functionTable(bytes.NewReader(program))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(program[:headerBytes], []byte{}, uint16(headerBytes))
	f.Add(program[table.offset:table.offset+tableHeaderBytes], []byte(marker), uint16(0))
	f.Add([]byte("\x7fELF\x02\x01"), bytes.Repeat([]byte{1}, headerBytes), uint16(40))
	f.Fuzz(func(t *testing.T, head, body []byte, at uint16) {
		data := make([]byte, max(len(head), int(at)+len(body)))
		copy(data, head)
		copy(data[at:], body)
		r := bytes.NewReader(data)
		_ = find(r) // neither panics nor hangs
		if names, err := functionNames(r, span{0, uint64(len(data))}); err == nil && names.size > uint64(len(data)) {
			t.Errorf("%+v in %d bytes", names, len(data))
		}
	})
}

// BenchmarkPM is what scrun spends, beside dialling, before it asks for the job.
func BenchmarkPM(b *testing.B) {
	program := build(b, "score/examples/pm/stencil", "-ldflags=-s -w")
	for b.Loop() {
		if !PM(program) {
			b.Fatal("not found")
		}
	}
}
