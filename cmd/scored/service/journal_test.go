package service

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// childVariable makes the test program a process that says what its standard error is.
const childVariable = "SCORE_TEST_JOURNAL"

func TestMain(m *testing.M) {
	if os.Getenv(childVariable) != "" {
		fmt.Print(InJournal(), ErrorPrefix())
		return
	}
	os.Exit(m.Run())
}

// TestInJournal: the environment names the stream by device and inode; a program whose standard
// error was redirected has inherited the name of another one.
func TestInJournal(t *testing.T) {
	stderr, err := os.Create(t.TempDir() + "/stderr")
	if err != nil {
		t.Fatal(err)
	}
	defer stderr.Close()
	var stat unix.Stat_t
	if err := unix.Fstat(int(stderr.Fd()), &stat); err != nil {
		t.Fatal(err)
	}
	for stream, want := range map[string]string{
		fmt.Sprintf("%d:%d", stat.Dev, stat.Ino):   "true<3>",
		fmt.Sprintf("%d:%d", stat.Dev, stat.Ino+1): "false",
		"rubbish": "false",
		"":        "false",
	} {
		command := exec.Command(os.Args[0])
		command.Env = append(os.Environ(), childVariable+"=1", "JOURNAL_STREAM="+stream)
		command.Stderr = stderr
		out, err := command.Output()
		if got := strings.TrimSpace(string(out)); err != nil || got != want {
			t.Errorf("JOURNAL_STREAM=%s: %q, %v, want %q", stream, got, err, want)
		}
	}
}
