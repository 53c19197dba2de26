package agentdir

import (
	"os"
	"testing"
)

func TestRunDirIsChecked(t *testing.T) {
	dir := t.TempDir() + "/run"
	unlock, err := Lock(dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Lock(dir); err == nil {
		t.Error("taken twice")
	}
	unlock()
	again, err := Lock(dir)
	if err != nil {
		t.Fatal(err)
	}
	again()
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := Lock(dir); err == nil {
		t.Error("a directory open to others was taken")
	}
	if _, err := Lock("/proc/no/such"); err == nil {
		t.Error("a directory that cannot be made was taken")
	}
}
