package handover

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func TestMapsItself(t *testing.T) {
	for uidMap, want := range map[string]bool{
		"         0          0 4294967295\n": true,  // no container
		"     65531      65531          1\n": false, // bubblewrap
		"         0       1000          1\n": false, // unshare -r
		"0 1000 1\n1 100000 65536\n":         false, // 65534 is one of the user's own
		"0 1000 1\n65534 65534 1\n":          true,
		"1000 1000 1\n60000 60000 10000\n":   true,
		"":                                   false, // nobody is mapped yet
		"nonsense\n":                         true,
	} {
		if got := mapsItself(strings.NewReader(uidMap), overflowUID); got != want {
			t.Errorf("%q: %v, want %v", uidMap, got, want)
		}
	}
}

func TestGuarded(t *testing.T) {
	top := t.TempDir()
	for path, mode := range map[string]fs.FileMode{
		"private": 0o711, "group": 0o775, "everyone": 0o777, "sticky": 0o777 | fs.ModeSticky, "sticky/private": 0o755, "everyone/private": 0o755,
	} {
		dir := filepath.Join(top, path)
		if err := errors.Join(os.MkdirAll(dir, 0o700), os.Chmod(dir, mode)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("private", filepath.Join(top, "link")); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]bool{
		"private/pm": true, "sticky/private/pm": true,
		"group/pm": false, "everyone/pm": false, "everyone/private/pm": false, "sticky/pm": false,
		"link/pm": false, "missing/pm": false,
	} {
		if got := guarded(filepath.Join(top, path)); got != want {
			t.Errorf("%s: %v, want %v", path, got, want)
		}
	}
	for _, path := range []string{"@abstract", "pm", ""} {
		if guarded(path) {
			t.Errorf("%q is guarded", path)
		}
	}
}

// containerPath is the environment variable by which TestDialFromContainer tells its child to dial.
const containerPath = "SCORE_TEST_DIAL"

// TestDialFromContainer: in a user namespace without root, root's daemon at a path of root's is
// found.
func TestDialFromContainer(t *testing.T) {
	if path := os.Getenv(containerPath); path != "" {
		conn, err := Dial(path)
		if err != nil {
			t.Fatal(err)
		}
		conn.Close()
		return
	}
	if os.Geteuid() != 0 {
		t.Skip("only root can listen as root")
	}
	dir := t.TempDir()
	listener, err := Listen(filepath.Join(dir, "pm"))
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	for mode, want := range map[fs.FileMode]string{0o755: "ok", 0o777: "another user listens"} {
		if err := os.Chmod(dir, mode); err != nil {
			t.Fatal(err)
		}
		command := exec.Command(os.Args[0], "-test.run", "^TestDialFromContainer$")
		command.Env = append(os.Environ(), containerPath+"="+filepath.Join(dir, "pm"))
		command.SysProcAttr = &syscall.SysProcAttr{
			Cloneflags:  syscall.CLONE_NEWUSER,
			UidMappings: []syscall.SysProcIDMap{{ContainerID: 1000, HostID: 1000, Size: 1}},
		}
		out, err := command.CombinedOutput()
		if errors.Is(err, syscall.EPERM) || errors.Is(err, syscall.ENOSPC) {
			t.Skip("no user namespaces here:", err)
		}
		if (err == nil) != (want == "ok") || err != nil && !strings.Contains(string(out), want) {
			t.Errorf("mode %o: %v, %s", mode, err, out)
		}
	}
}
