package rpc

import (
	"errors"
	"io"
	"net"
	"testing"
	"time"

	"connectrpc.com/connect"
)

func TestTries(t *testing.T) {
	start := time.Unix(1000, 0)
	broken := connect.NewError(connect.CodeUnavailable, io.ErrUnexpectedEOF)
	refused := connect.NewError(connect.CodeUnavailable, &net.OpError{Op: "dial", Err: errors.New("refused")})
	// times runs fetches of this length that end with an error, until no more are tried or 100
	// were.
	times := func(lasts time.Duration, err error, output bool) int {
		now, reached := start, uint64(0)
		tries := newTries(now, reached)
		for n := 1; ; n++ {
			began := now
			now = now.Add(lasts)
			if output {
				reached++
			}
			if !tries.retry(began, now, reached, err) || n == 100 {
				return n
			}
			now = now.Add(refetchPause)
		}
	}
	away := int(refetchPatience/(refetchPause+time.Millisecond)) + 1
	for name, test := range map[string]struct{ got, want int }{
		"an agent that dies every second under silent ranks": {times(time.Second, broken, false), 100},
		"one that dies within a message":                     {times(time.Second, connect.NewError(connect.CodeInternal, io.ErrUnexpectedEOF), false), 100},
		"no listener":                                        {times(time.Millisecond, refused, false), min(away, 100)},
		"no listener, found out slowly":                      {times(5*time.Second, refused, false), int(refetchPatience/(5*time.Second+refetchPause)) + 1},
		"no such job":                                        {times(time.Second, connect.NewError(connect.CodeNotFound, io.EOF), true), 1},
		"an end without a word":                              {times(time.Second, errCutOff, false), maxCutOffs},
		"an end after some output":                           {times(time.Second, errCutOff, true), 100},
	} {
		if test.got != test.want {
			t.Errorf("%s: %d fetches, want %d", name, test.got, test.want)
		}
	}
}
