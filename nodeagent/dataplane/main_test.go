package dataplane

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"score/channels/handover"
	"strconv"
	"testing"
	"time"
)

// TestMain lets the test binary be a rank, or something that a rank starts.
func TestMain(m *testing.M) {
	os.Setenv("GORACE", "atexit_sleep_ms=0") // for the processes that the tests start
	if len(os.Args) > 2 {
		switch os.Args[1] {
		case "rank":
			os.Exit(rank(os.Args[2]))
		case "crowd":
			os.Exit(dialMany(os.Args[2]))
		case "shell":
			os.Exit(shell(os.Args[2:]))
		}
	}
	os.Exit(m.Run())
}

// Exit codes of a rank, so that a refusal can be told from an accident.
const (
	codeServed  = 0
	codeFailed  = 1
	codeRefused = 3
)

// rank asks for its context on channel 1, and tells which rank it is by that.
func rank(socket string) int {
	conn, err := handover.Dial(socket)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return codeFailed
	}
	img, err := handover.NewClient(conn).Image(1, handover.Own)
	switch {
	case errors.Is(err, handover.ErrLost):
		return codeRefused
	case err != nil:
		fmt.Fprintln(os.Stderr, err)
		return codeFailed
	}
	fmt.Println(img.Rank)
	return codeServed
}

// dialMany makes connections until one is refused, and tells how many were not.
func dialMany(socket string) int {
	var all []*handover.Client
	for len(all) < 100 {
		conn, err := handover.Dial(socket)
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return codeFailed
		}
		client := handover.NewClient(conn)
		if _, err := client.Image(1, handover.Own); err != nil {
			break
		}
		all = append(all, client)
	}
	fmt.Println(len(all))
	return codeServed
}

// shell runs itself with the arguments, and waits a moment so that it is older.
func shell(arguments []string) int {
	time.Sleep(20 * time.Millisecond)
	command := exec.Command("/proc/self/exe", arguments...)
	command.Stdout, command.Stderr = os.Stdout, os.Stderr
	err := command.Run()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return exit.ExitCode()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return codeFailed
	}
	return codeServed
}

func atoi(t *testing.T, text string) int {
	t.Helper()
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	return n
}
