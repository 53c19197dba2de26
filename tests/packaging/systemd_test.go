package packaging

import (
	"context"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"score/tests/daemons"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// systemd is the service manager, which need not run here.
const systemd = "/lib/systemd/systemd"

// newGroup makes a control group for all that the test starts.
func newGroup(t *testing.T) (dir string) {
	t.Helper()
	for _, mount := range []string{"/sys/fs/cgroup/unified", "/sys/fs/cgroup"} {
		if _, err := os.Stat(filepath.Join(mount, "cgroup.procs")); err != nil {
			continue
		}
		dir, err := os.MkdirTemp(mount, "score-test-")
		if err != nil {
			t.Skip("no control group can be made: ", err)
		}
		t.Cleanup(func() { removeGroup(t, dir) })
		return dir
	}
	t.Skip("there are no control groups of version 2 here")
	return ""
}

// removeGroup removes a group and those below it, after all their processes have ended.
func removeGroup(t *testing.T, dir string) {
	var all []string
	_ = filepath.WalkDir(dir, func(path string, entry fs.DirEntry, _ error) error {
		if entry != nil && entry.IsDir() {
			all = append(all, path)
		}
		return nil
	})
	slices.Reverse(all)
	for _, path := range all {
		// The kernel takes a moment for what has just ended.
		if err := daemons.Await(context.Background(), path+" is removed", func() bool { return unix.Rmdir(path) == nil }); err != nil {
			t.Error(err)
		}
	}
}

// TestSystemd boots a systemd of its own, and uses the units: start, reload, restart and crash of
// an agent with a running job, removal of the package with another one.
func TestSystemd(t *testing.T) {
	needAside(t)
	if _, err := os.Stat(systemd); err != nil {
		t.Skip("there is no systemd here")
	}
	group, dir := newGroup(t), t.TempDir()
	if err := os.Rename(build(t, dir, "1"), filepath.Join(dir, "score_1.deb")); err != nil {
		t.Fatal(err)
	}
	copyScripts(t, dir, "testdata", "boot.sh", "systemd.sh")
	ctx, cancel := context.WithTimeout(t.Context(), 5*patience)
	defer cancel()
	// The group is entered before its name space is made, so it is the top of that.
	command := exec.CommandContext(ctx, "unshare", "--mount", "--pid", "--net", "--cgroup", "--uts", "--ipc", "--fork", "--kill-child",
		"sh", filepath.Join(dir, "boot.sh"), dir)
	entered, err := os.Open(group)
	if err != nil {
		t.Fatal(err)
	}
	defer entered.Close()
	command.SysProcAttr = &unix.SysProcAttr{Pdeathsig: unix.SIGKILL, UseCgroupFD: true, CgroupFD: int(entered.Fd())}
	command.WaitDelay = patience
	out, _ := command.CombinedOutput() // a poweroff ends it by a signal
	log, err := os.ReadFile(filepath.Join(dir, "log"))
	if err != nil || !strings.HasSuffix(string(log), "all well\n") {
		t.Errorf("%v\n%s\n%s", err, log, out)
	}
}
