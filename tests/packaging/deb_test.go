package packaging

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// build makes a package of the test's programs.
func build(t *testing.T, dir, version string) (path string) {
	t.Helper()
	command := exec.CommandContext(t.Context(), "../../packaging/deb/build", dir, version, binaries)
	if out, err := command.CombinedOutput(); err != nil {
		t.Fatalf("building the package: %v\n%s", err, out)
	}
	made, err := filepath.Glob(filepath.Join(dir, "score_"+version+"_*.deb"))
	if err != nil || len(made) != 1 {
		t.Fatalf("built %v, %v", made, err)
	}
	return made[0]
}

// needAside skips where no copy of the file system can be had.
func needAside(t *testing.T) {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("only root may install packages, even in a copy of the file system")
	}
	for _, program := range []string{"dpkg", "unshare", "ip"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skip("there is no " + program + " here")
		}
	}
}

// copyScripts puts files to where a copy of the file system shows them.
func copyScripts(t *testing.T, dir, from string, names ...string) {
	t.Helper()
	for _, name := range names {
		text, err := os.ReadFile(filepath.Join(from, name))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// managers is what package managers keep for themselves.
var managers = regexp.MustCompile(`^\./var/(lib/dpkg|cache/(man|debconf)|log/(dpkg|alternatives)\.log|lib/man-db/auto-update)`)

// TestDebianPackage is the life of a package on a machine, up to its purge, after which nothing is
// left.
func TestDebianPackage(t *testing.T) {
	needAside(t)
	dir := t.TempDir()
	for _, version := range []string{"1", "2"} {
		build(t, dir, version)
		for _, name := range []string{"score", "libscore1", "libscore-dev"} {
			made, err := filepath.Glob(filepath.Join(dir, name+"_"+version+"_*.deb"))
			if err != nil || len(made) != 1 {
				t.Fatalf("built %v, %v", made, err)
			}
			if err := os.Rename(made[0], filepath.Join(dir, name+"_"+version+".deb")); err != nil {
				t.Fatal(err)
			}
		}
	}
	copyScripts(t, dir, "testdata", "aside.sh", "deb.sh")
	copyScripts(t, dir, "../../pm/lib/testdata", "pmchannel.c", "ring.f90", "pieces.f90")
	ctx, cancel := context.WithTimeout(t.Context(), 5*patience)
	defer cancel()
	// What runs in it ends with it, and so do its mounts.
	command := exec.CommandContext(ctx, "unshare", "--mount", "--pid", "--net", "--fork", "--kill-child",
		"sh", filepath.Join(dir, "aside.sh"), dir, "deb.sh")
	command.SysProcAttr = &unix.SysProcAttr{Pdeathsig: unix.SIGKILL}
	command.WaitDelay = patience
	out, err := command.CombinedOutput()
	told, left, _ := strings.Cut(string(out), "left:\n")
	if err != nil {
		t.Fatalf("%v\n%s", err, told)
	}
	t.Log(told)
	remains := slices.DeleteFunc(strings.Fields(left), managers.MatchString)
	if len(remains) > 0 {
		t.Errorf("the package left behind: %s", strings.Join(remains, " "))
	}
}
