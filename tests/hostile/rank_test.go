package hostile

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"score/nodeagent/pmi"
	"score/nodeagent/pmi/pmi2"
	"strconv"
	"strings"
	"time"
)

// stateVariable names the file in which each rank of a job writes one byte: how far it is.
const stateVariable = "HOSTILE_STATE"

// The states of a rank: it may begin, its steward has its requests, it has all answers.
const (
	rankReady    byte = 'r'
	rankAsked    byte = 'q'
	rankAnswered byte = 'a'
)

// rank is a rank of a hostile job. It speaks PMI-2.
type rank struct {
	state  *os.File
	number int64
	conn   net.Conn
	input  *bufio.Reader
	output bytes.Buffer
}

// openRank begins PMI-2 on the connection that the steward gave this process.
func openRank() (*rank, error) {
	fd, err := strconv.Atoi(os.Getenv("PMI_FD"))
	if err != nil {
		return nil, err
	}
	number, err := strconv.Atoi(os.Getenv("PMI_RANK"))
	if err != nil {
		return nil, err
	}
	file := os.NewFile(uintptr(fd), "pmi")
	defer file.Close()
	conn, err := net.FileConn(file)
	if err != nil {
		return nil, err
	}
	state, err := os.OpenFile(os.Getenv(stateVariable), os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, err
	}
	r := &rank{state: state, number: int64(number), conn: conn, input: bufio.NewReader(conn)}
	if _, err = io.WriteString(conn, "cmd=init pmi_version=2 pmi_subversion=0\n"); err != nil {
		return nil, err
	}
	if _, err = r.input.ReadString('\n'); err != nil {
		return nil, err
	}
	r.ask("fullinit", "pmirank", strconv.Itoa(number), "threaded", "FALSE")
	if err := r.flush(); err != nil {
		return nil, err
	}
	return r, r.answer("fullinit-response")
}

// ask adds a request to those that flush sends.
func (r *rank) ask(command string, pairs ...string) {
	f := pmi2.Begin(nil, command, "")
	for i := 0; i < len(pairs); i += 2 {
		f.Pair(pairs[i], pairs[i+1])
	}
	r.output.Write(f.End())
}

func (r *rank) flush() error {
	_, err := r.output.WriteTo(r.conn)
	return err
}

// answer reads an answer, which must be to this command.
func (r *rank) answer(command string) error {
	got, err := r.next()
	if err == nil && got != command {
		err = fmt.Errorf("the answer is %q, not %q", got, command)
	}
	return err
}

// next reads an answer, and returns its command.
func (r *rank) next() (string, error) {
	header := make([]byte, pmi2.HeaderLen)
	if _, err := io.ReadFull(r.input, header); err != nil {
		return "", err
	}
	size, err := pmi2.Length(header)
	if err != nil {
		return "", err
	}
	body := make([]byte, size)
	if _, err := io.ReadFull(r.input, body); err != nil {
		return "", err
	}
	command, _, _ := strings.Cut(strings.TrimPrefix(string(body), "cmd="), ";")
	return command, nil
}

// is tells the test the rank's state.
func (r *rank) is(state byte) error {
	_, err := r.state.WriteAt([]byte{state}, r.number)
	return err
}

// playLookups asks for many names that nobody publishes at once, and again when all are answered.
// The steward answers the request for a key itself, after it has read those before.
func playLookups() error {
	r, err := openRank()
	for err == nil {
		for i := range lookups {
			r.ask("name-lookup", "name", fmt.Sprint("nobody", r.number, "-", i))
		}
		r.ask("kvs-get", "key", "none")
		err = r.flush()
		for left := lookups + 1; left > 0 && err == nil; left-- {
			var command string
			if command, err = r.next(); command == "kvs-get-response" {
				err = errors.Join(err, r.is(rankAsked))
			}
		}
		if err == nil {
			err = r.is(rankAnswered)
		}
	}
	return err
}

// playChurn publishes and withdraws names.
func playChurn() error {
	r, err := openRank()
	for err == nil {
		for i := range churned {
			name := fmt.Sprint("churn", i)
			r.ask("name-publish", "name", name, "port", strings.Repeat("p", pmi.MaxValue/2))
			r.ask("name-unpublish", "name", name)
		}
		err = r.flush()
		for left := 2 * churned; left > 0 && err == nil; left-- {
			_, err = r.next()
		}
		if err == nil {
			err = r.is(rankAnswered)
		}
	}
	return err
}

// playGreedy waits until it may begin, and asks for all that a rank may.
func playGreedy() error {
	r, err := openRank()
	if err == nil {
		err = r.is(rankReady)
	}
	for range time.Tick(time.Millisecond) {
		if _, missing := os.Stat(goFile); err != nil || missing == nil {
			break
		}
	}
	if err != nil {
		return err
	}
	for i := range pmi.MaxHeld {
		r.ask("name-lookup", "name", fmt.Sprint("greedy", r.number, "-", i))
	}
	if err = r.flush(); err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, r.conn)
	return err
}
