package steward_test

import (
	"bytes"
	"io"
	"net"
	"os"
	"os/exec"
	"score/nodeagent/steward/stewardpb"
	"score/nodeagent/steward/wire"
	"strings"
	"testing"
	"time"
)

// raw connects as nobody in particular.
func (a *agent) raw() net.Conn {
	a.t.Helper()
	conn, err := net.Dial("unix", a.process.Socket)
	if err != nil {
		a.t.Fatal(err)
	}
	a.t.Cleanup(func() { conn.Close() })
	a.do(conn.SetDeadline(time.Now().Add(timeout)))
	return conn
}

func TestConnectionsThatSayNonsense(t *testing.T) {
	launch, err := wire.Append(nil, &stewardpb.ToSteward{Message: &stewardpb.ToSteward_Launch{Launch: true}})
	if err != nil {
		t.Fatal(err)
	}
	a := start(t)
	a.ready(a.order(1, []string{"/bin/true"}))
	for name, text := range map[string][]byte{
		"no message":           []byte("\x03hello"),
		"too long":             bytes.Repeat([]byte{0xff}, 20),
		"an order before Open": launch,
	} {
		t.Run(name, func(t *testing.T) {
			conn := a.raw()
			if _, err := conn.Write(text); err != nil {
				t.Fatal(err)
			}
			if n, err := io.Copy(io.Discard, conn); n > 0 || os.IsTimeout(err) {
				t.Errorf("%d bytes, %v; it should have been cut off", n, err)
			}
		})
	}
	a.do(a.conn.AskRankStates(1)) // the agent is not disturbed, and nothing was launched
	states := await(a, "states", 0, (*stewardpb.FromSteward).GetRankStates)
	if got := states.GetRanks()[0].GetState(); got != "prepared" {
		t.Errorf("the rank is %s", got)
	}
}

func TestConnectionsThatSayNothing(t *testing.T) {
	a := start(t)
	for range 40 { // more than are kept
		a.raw()
	}
	a.dial() // an agent gets through
	a.run(1, []string{"/bin/true"})
	a.done()
}

func TestMainWithoutAnAgent(t *testing.T) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		args []string
		says string
	}{
		"no socket":      {nil, "not a listening socket"},
		"unknown flag":   {[]string{"--frobnicate"}, "frobnicate"},
		"an argument":    {[]string{"now"}, `"now"`},
		"negative grace": {[]string{"--agent-grace", "-1s"}, "negative"},
	} {
		t.Run(name, func(t *testing.T) {
			out, err := exec.Command(exe, append([]string{"steward"}, tt.args...)...).CombinedOutput()
			if err == nil || !strings.Contains(string(out), tt.says) || strings.Count(string(out), "\n") != 1 {
				t.Errorf("%q (%v)", out, err)
			}
		})
	}
}
