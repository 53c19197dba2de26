package launch

import (
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

const script = "#!/bin/sh\nexit 0\n"

// programs fills a directory with what users try to start.
func programs(t *testing.T) string {
	t.Helper()
	dir := openDir(t)
	own, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	for _, sub := range []string{"bin", "first", "dir"} {
		if err := os.Mkdir(filepath.Join(dir, sub), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	at := func(name string) string { return filepath.Join(dir, name) }
	write(t, at("script"), []byte(script), 0o755)
	write(t, at("bin/tool"), []byte(script), 0o755)
	write(t, at("first/tool"), []byte(script), 0o644)
	write(t, at("first/only"), []byte(script), 0o644)
	write(t, at("plain"), []byte(script), 0o644)
	write(t, at("owners"), []byte(script), 0o700)
	write(t, at("unread"), []byte(script), 0o711)
	write(t, at("empty"), nil, 0o755)
	write(t, at("text"), []byte("hello\n"), 0o755)
	write(t, at("nointerp"), []byte("#!/no/such/shell -x\n"), 0o755)
	write(t, at("dosscript"), []byte("#!/bin/sh\r\nexit 0\r\n"), 0o755)
	write(t, at("bare"), []byte("#!\n"), 0o755)
	write(t, at("dirscript"), []byte("#!"+dir+"\n"), 0o755)
	write(t, at("env"), []byte("#! /usr/bin/env sh\n"), 0o755)
	write(t, at("loop"), []byte("#!"+at("loop")+"\n"), 0o755)
	write(t, at("own"), own[:headBytes], 0o755)
	write(t, at("cut"), own[:32], 0o755)
	write(t, at("other"), patch(own, elfMachine, 0x1234), 0o755)
	write(t, at("s390"), patch(own, elfMachine, 22), 0o755)
	write(t, at("object"), patch(own, elfType, 1), 0o755)
	write(t, at("noloader"), withLoader("/no/such/ld.so"), 0o755)
	write(t, at("loader"), withLoader("/bin/sh"), 0o755)
	if err := unix.Mkfifo(at("fifo"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(at("fifo"), 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

// patch changes one 16 bit field of an ELF header.
func patch(elf []byte, at int, value uint16) []byte {
	head := append([]byte(nil), elf[:headBytes]...)
	binary.NativeEndian.PutUint16(head[at:], value)
	return head
}

// withLoader is an ELF file for this machine that asks for a dynamic loader.
func withLoader(loader string) []byte {
	own, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		panic(err)
	}
	head := append([]byte(nil), own[:elfHeader64+elfPhdr64]...)
	order := binary.NativeEndian
	order.PutUint64(head[elfPhoff64:], elfHeader64)
	order.PutUint16(head[elfPhentsize64:], elfPhdr64)
	order.PutUint16(head[elfPhnum64:], 1)
	header := head[elfHeader64:]
	order.PutUint32(header, elfInterp)
	order.PutUint64(header[phdrOffset:], uint64(len(head)))
	order.PutUint64(header[phdrFilesz:], uint64(len(loader)+1))
	return append(append(head, loader...), 0)
}

func TestResolve(t *testing.T) {
	dir := programs(t)
	path := dir + "/first:" + dir + "/bin:/nowhere"
	cases := map[string]struct {
		program string
		want    string // below dir
		err     error
		says    string
		code    int
	}{
		"relative":          {"./script", "/script", nil, "", 0},
		"deeper":            {"bin/tool", "/bin/tool", nil, "", 0},
		"absolute":          {dir + "/script", "/script", nil, "", 0},
		"searched":          {"tool", "/bin/tool", nil, "", 0},
		"through env":       {"./env", "/env", nil, "", 0},
		"binary":            {"./own", "/own", nil, "", 0},
		"loader is there":   {"./loader", "/loader", nil, "", 0},
		"up and down":       {"bin/../script", "/bin/../script", nil, "", 0},
		"nothing":           {"", "", ErrNotFound, "empty", 127},
		"zero byte":         {"a\x00", "", ErrNotFound, "zero byte", 127},
		"missing":           {"./missing", "", ErrNotFound, "does not exist on this node", 127},
		"file as directory": {"./script/x", "", ErrNotFound, "does not exist", 127},
		"not in PATH":       {"missing", "", ErrNotFound, "write ./missing", 127},
		"variable":          {"FOO=1", "", ErrNotFound, "before scrun or with --export", 127},
		"line for a shell":  {"echo hi", "", ErrNotFound, "without the quotes", 127},
		"line with a path":  {"cd bin && ./tool", "", ErrNotFound, "write sh -c before it", 127},
		"shell's own":       {"cd", "", ErrNotFound, "write sh -c", 127},
		"PATH, no x":        {"only", "", ErrNotExecutable, "chmod +x", 126},
		"no x":              {"./plain", "", ErrNotExecutable, "chmod +x", 126},
		"directory":         {"./dir", "", ErrNotExecutable, "is a directory", 126},
		"empty file":        {"./empty", "", ErrNotExecutable, "is empty", 126},
		"text":              {"./text", "", ErrNotExecutable, "#!/bin/sh", 126},
		"fifo":              {"./fifo", "", ErrNotExecutable, "not a regular file", 126},
		"no interpreter":    {"./nointerp", "", ErrBadInterpreter, "#!/no/such/shell", 126},
		"DOS line ends":     {"./dosscript", "", ErrBadInterpreter, "dos2unix", 126},
		"no name in #!":     {"./bare", "", ErrBadInterpreter, "first line", 126},
		"directory in #!":   {"./dirscript", "", ErrBadInterpreter, "is a directory", 126},
		"circle":            {"./loop", "", ErrBadInterpreter, "more than 4", 126},
		"cut short":         {"./cut", "", ErrNotExecutable, "cut short", 126},
		"unknown machine":   {"./other", "", ErrWrongArch, "machine number 4660", 126},
		"other machine":     {"./s390", "", ErrWrongArch, "for s390x, this node is " + runtime.GOARCH, 126},
		"object file":       {"./object", "", ErrNotExecutable, "link it", 126},
		"no dynamic loader": {"./noloader", "", ErrBadInterpreter, "/no/such/ld.so", 126},
		"directory in PATH": {"bin", "", ErrNotFound, "in no directory of PATH", 127},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := Resolve(c.program, dir, path, nil)
			if !errors.Is(err, c.err) {
				t.Fatalf("got %q, %v, want %v", got, err, c.err)
			}
			if err != nil {
				contains(t, err, c.says)
				if code := ExitCode(err); code != c.code || got != "" {
					t.Errorf("exit code %d, want %d; path %q", code, c.code, got)
				}
				return
			}
			if got != dir+c.want {
				t.Errorf("got %q, want %q", got, dir+c.want)
			}
		})
	}
}

func TestResolveEmptyPathEntryIsTheDirectory(t *testing.T) {
	dir := programs(t)
	for _, path := range []string{"", ":/nowhere", "/nowhere:", "."} {
		got, err := Resolve("script", dir, path, nil)
		if err != nil || !sameFile(got, dir+"/script") {
			t.Errorf("PATH %q: %q, %v", path, got, err)
		}
	}
}

func TestResolveInALongPath(t *testing.T) {
	dir := programs(t)
	long := strings.Repeat("/nowhere:", maxPathDirs)
	if got, err := Resolve("script", dir, strings.TrimPrefix(long, "/nowhere:")+dir, nil); err != nil || got != dir+"/script" {
		t.Errorf("in the last directory that is searched: %q, %v", got, err)
	}
	_, err := Resolve("script", dir, long+dir, nil)
	if !errors.Is(err, ErrNotFound) {
		t.Fatal(err)
	}
	contains(t, err, "first 1024 directories of PATH")
}

func sameFile(a, b string) bool {
	x, errX := os.Stat(a)
	y, errY := os.Stat(b)
	return errX == nil && errY == nil && os.SameFile(x, y)
}

func TestResolveAsTheUser(t *testing.T) {
	needRoot(t)
	dir := programs(t)
	if _, err := Resolve("./owners", dir, "", nil); err != nil {
		t.Errorf("as root: %v", err)
	}
	_, err := Resolve("./owners", dir, "", nobody)
	if !errors.Is(err, ErrNotExecutable) {
		t.Errorf("owner's program as another user: %v", err)
	}
	if _, err := Resolve("./unread", dir, "", nobody); err != nil {
		t.Errorf("a program that may be executed but not read: %v", err)
	}
	if err := os.Chmod(filepath.Join(dir, "bin"), 0o700); err != nil {
		t.Fatal(err)
	}
	_, err = Resolve("bin/tool", dir, "", nobody)
	contains(t, err, "may not enter a directory on the way")
	_, err = Resolve("./script", filepath.Join(dir, "bin"), "", nobody)
	if !errors.Is(err, ErrDir) {
		t.Errorf("a closed working directory: %v", err)
	}
	contains(t, err, "-D")
}

func TestResolveDirectory(t *testing.T) {
	dir := programs(t)
	for bad, says := range map[string]string{
		"/no/such/dir": "does not exist on this node", dir + "/script": "is not a directory", "a\x00": "choose another",
		"/proc": "choose another with -D, and let the program go there",
	} {
		_, err := Resolve("/bin/sh", bad, "", nil)
		if !errors.Is(err, ErrDir) || ExitCode(err) != CodeNotExecutable {
			t.Errorf("%q: %v", bad, err)
		}
		contains(t, err, says)
	}
	if ExitCode(ErrNoProcess) != CodeCluster {
		t.Error("a fault of the system must not look like the program's")
	}
}

// What the kernel starts, Resolve accepts, and what it accepts, the kernel starts.
func TestResolveAgreesWithTheKernel(t *testing.T) {
	dir := programs(t)
	b := newBench(t)
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		// A cut binary cannot run, nor can a shell be a dynamic loader; only
		// the exec counts, so these two are left out.
		if e.Name() == "own" || e.Name() == "loader" || e.Name() == "cut" || e.Name() == "unread" {
			continue
		}
		r := shell(t, 0, "", nil)
		r.Path, r.Argv = filepath.Join(dir, e.Name()), []string{e.Name()}
		_, started := b.startOne(r)
		if started == nil {
			b.exit(t)
		}
		_, found := Resolve("./"+e.Name(), dir, "", nil)
		if (started == nil) != (found == nil) {
			t.Errorf("%s: the kernel says %v, Resolve says %v", e.Name(), started, found)
		}
	}
}

func FuzzBinary(f *testing.F) {
	own, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(own[:256])
	f.Add(withLoader("/lib/ld.so"))
	f.Add([]byte("\x7fELF"))
	f.Add([]byte(script))
	f.Fuzz(func(_ *testing.T, head []byte) {
		if len(head) > headBytes {
			head = head[:headBytes]
		}
		_ = checkELF("x", head)
		if len(head) >= elfHeader64 {
			_ = loaderOf(head, binary.LittleEndian)
			_ = loaderOf(head, binary.BigEndian)
		}
	})
}
