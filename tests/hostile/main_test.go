package hostile

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"score/tests/daemons"
	"score/tests/daemons/daemonstest"
	"strconv"
	"syscall"
	"testing"
	"time"
)

const (
	// partVariable names the part that this program plays instead of running tests, socketVariable
	// the server's socket, jobVariable the job of another, and specVariable the job to submit.
	partVariable, socketVariable, jobVariable, specVariable = "HOSTILE_PART", "HOSTILE_SOCKET", "HOSTILE_JOB", "HOSTILE_SPEC"
	// eve means no good; ada is somebody else.
	eve, ada = 65534, 65533
)

// bin is the directory of the freshly built programs.
var bin string

func TestMain(m *testing.M) {
	if part := os.Getenv(partVariable); part != "" {
		os.Exit(play(part))
	}
	os.Exit(daemonstest.Run(m, &bin))
}

// player is another process with a user of its own. It tells how far it is in lines, and ends with
// its input.
type player struct {
	t     *testing.T
	part  string
	lines *bufio.Scanner
	input io.Closer
}

// start lets a user play a part.
func start(t *testing.T, c *daemons.Cluster, uid uint32, part string, env ...string) *player {
	t.Helper()
	command := exec.Command(os.Args[0], strconv.FormatUint(uint64(uid), 10))
	command.Env = append(append(os.Environ(), partVariable+"="+part, socketVariable+"="+c.Socket()), env...)
	command.Stderr = os.Stderr
	command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	input, err := command.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	output, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	p := &player{t: t, part: part, lines: bufio.NewScanner(output), input: input}
	p.lines.Buffer(nil, maxLine)
	t.Cleanup(func() {
		input.Close()
		_ = command.Wait() // how it ended does not matter
	})
	return p
}

// maxLine bounds what a player says at once: the answers of all methods.
const maxLine = 4 << 20

// line waits for the player's next line.
func (p *player) line() string {
	p.t.Helper()
	lines := make(chan string, 1)
	go func() {
		if !p.lines.Scan() {
			close(lines)
			return
		}
		lines <- p.lines.Text()
	}()
	select {
	case line, ok := <-lines:
		if !ok {
			p.t.Fatalf("the player of %q has ended", p.part)
		}
		return line
	case <-time.After(daemons.Patience):
		p.t.Fatalf("the player of %q says nothing", p.part)
		return ""
	}
}

// number reads the player's next line.
func (p *player) number() int {
	p.t.Helper()
	n, err := strconv.Atoi(p.line())
	if err != nil {
		p.t.Fatal(err)
	}
	return n
}
