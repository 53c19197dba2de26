package ports

import (
	"bufio"
	"fmt"
	"net"
	"os"
	"os/exec"
	"score/tests/child"
	"strings"
	"testing"
)

// asked has this binary take that number of ports, print them, and hold them until its input ends.
const asked = "SCORE_TEST_PORTS"

func TestMain(m *testing.M) {
	var n int
	if _, err := fmt.Sscan(os.Getenv(asked), &n); err != nil {
		os.Exit(m.Run())
	}
	free, err := Free(n)
	fmt.Println(free, err)
	_, _ = bufio.NewReader(os.Stdin).ReadString('\n')
}

// Processes do not meet, though nobody listens.
func TestProcessesDoNotMeet(t *testing.T) {
	const n = blockSize + 3
	own, err := Free(n)
	if err != nil {
		t.Fatal(err)
	}
	seen := make(map[string]bool)
	for _, port := range own {
		seen[fmt.Sprint(port)] = true
	}
	if len(seen) != n {
		t.Errorf("ports were given twice: %v", own)
	}
	for range 3 {
		command := exec.Command(os.Args[0])
		command.Env = append(os.Environ(), fmt.Sprint(asked, "=", n))
		line := child.Start(t, command).Line(t)
		list, ok := strings.CutSuffix(line, "] <nil>")
		others := strings.Fields(strings.TrimPrefix(list, "["))
		if !ok || len(others) != n {
			t.Fatalf("the other process says %q", line)
		}
		for _, port := range others {
			if seen[port] {
				t.Errorf("port %s was given twice", port)
			}
			seen[port] = true
		}
	}
}

// What listens already is not given.
func TestTakenPorts(t *testing.T) {
	free, err := Free(1)
	if err != nil {
		t.Fatal(err)
	}
	taken := free[0]
	udp, err := net.ListenPacket("udp", Join(taken))
	if err != nil {
		t.Fatal(err)
	}
	defer udp.Close()
	if isFree(taken) {
		t.Errorf("port %d is taken by UDP", taken)
	}
}
