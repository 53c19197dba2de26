package keys

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"score/channels/keys"
	"score/channels/keys/wire"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// pair makes a rank's socket, and the steward's end of it.
func pair(t testing.TB) (rank, steward *os.File) {
	t.Helper()
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	rank, steward = os.NewFile(uintptr(fds[0]), "rank"), os.NewFile(uintptr(fds[1]), "steward")
	t.Cleanup(func() { steward.Close() })
	return rank, steward
}

// steward answers one rank, with its own goroutine, and keeps what it commits in the store.
type steward struct {
	t     testing.TB
	conn  *os.File
	store *keys.Store
	// mute ends it before the answer to an op.
	mute wire.Op
}

func (s *steward) welcome(rank, size int) {
	hello := make([]byte, len(wire.Hello))
	if _, err := io.ReadFull(s.conn, hello); err != nil || string(hello) != wire.Hello {
		s.t.Errorf("greeted by %q, %v", hello, err)
	}
	rights := unix.UnixRights(int(s.store.File().Fd()))
	if err := unix.Sendmsg(int(s.conn.Fd()), wire.AppendJoin(nil, rank, size), rights, nil, 0); err != nil {
		s.t.Error(err)
	}
}

func (s *steward) serve(rank, size int) {
	s.welcome(rank, size)
	for {
		var head [wire.HeadBytes]byte
		if _, err := io.ReadFull(s.conn, head[:]); err != nil {
			return
		}
		op, n, err := wire.Head(head[:])
		if err != nil {
			s.t.Error(err)
		}
		body := make([]byte, n)
		if _, err := io.ReadFull(s.conn, body); err != nil {
			return
		}
		if op == wire.Commit {
			err := wire.ReadPairs(body, func(_ wire.Scope, key, value string) error { return s.store.Put(rank, key, value) })
			if err != nil {
				s.t.Error(err)
			}
		}
		if op == s.mute {
			return
		}
		if _, err := s.conn.Write(wire.Append(nil, op, nil)); err != nil {
			return
		}
	}
}

// start joins a job of three as rank 1.
func start(t testing.TB, mute wire.Op) (*Job, *steward) {
	t.Helper()
	store, err := keys.Create(3)
	if err != nil {
		t.Fatal(err)
	}
	mine, theirs := pair(t)
	s := &steward{t: t, conn: theirs, store: store, mute: mute}
	var serving sync.WaitGroup
	serving.Go(func() {
		s.serve(1, 3)
		theirs.Close()
	})
	t.Cleanup(func() {
		serving.Wait()
		store.Close()
	})
	j, err := Join(mine)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = j.Close() })
	return j, s
}

func TestJob(t *testing.T) {
	j, s := start(t, 0)
	if j.Rank() != 1 || j.Size() != 3 {
		t.Errorf("rank %d of %d", j.Rank(), j.Size())
	}
	if err := s.store.Put(0, "card", "theirs"); err != nil {
		t.Fatal(err)
	}
	if got, ok := j.Get(0, "card"); !ok || string(got) != "theirs" {
		t.Errorf("%q, %v", got, ok)
	}
	if err := j.Put(Global, "card", "mine"); err != nil {
		t.Fatal(err)
	}
	if _, ok := j.Get(1, "card"); ok {
		t.Error("seen before the commit")
	}
	if err := j.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got, ok := j.Get(1, "card"); !ok || string(got) != "mine" {
		t.Errorf("after the commit: %q, %v", got, ok)
	}
	for _, meet := range []func(context.Context) error{j.Fence, j.Barrier, j.Commit} {
		if err := meet(t.Context()); err != nil {
			t.Error(err)
		}
	}
	// More than goes in one commit, and more than a socket holds.
	large := strings.Repeat("x", batchBytes-100)
	for i := range 5 {
		if err := j.Put(Node, fmt.Sprint("large", i), large); err != nil {
			t.Fatal(err)
		}
	}
	if err := j.Fence(t.Context()); err != nil {
		t.Fatal(err)
	}
	for i := range 5 {
		if got, ok := j.Get(1, fmt.Sprint("large", i)); !ok || string(got) != large {
			t.Errorf("large value %d has %d bytes", i, len(got))
		}
	}
	if err := j.Close(); err != nil {
		t.Error(err)
	}
	for _, err := range []error{j.Close(), j.Fence(t.Context()), j.Put(Global, "k", "v"), j.Commit(t.Context())} {
		if !errors.Is(err, ErrClosed) {
			t.Errorf("after Close: %v", err)
		}
	}
}

// Get allocates nothing.
func TestGetAllocatesNothing(t *testing.T) {
	j, s := start(t, 0)
	if err := s.store.Put(2, "card", "value"); err != nil {
		t.Fatal(err)
	}
	if n := testing.AllocsPerRun(100, func() {
		if _, ok := j.Get(2, "card"); !ok {
			t.Error("gone")
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestTooLong(t *testing.T) {
	j, _ := start(t, 0)
	for _, key := range []string{"", strings.Repeat("k", keys.MaxKey+1)} {
		if err := j.Put(Global, key, ""); !errors.Is(err, ErrTooLong) {
			t.Errorf("a key of %d bytes: %v", len(key), err)
		}
	}
	if err := j.Put(Global, "k", strings.Repeat("v", keys.MaxValue+1)); !errors.Is(err, ErrTooLong) {
		t.Error(err)
	}
}

// A steward that dies and a cancelled wait give errors, and reading goes on.
func TestStewardDiesWhileWaiting(t *testing.T) {
	j, s := start(t, wire.Fence)
	if err := s.store.Put(0, "card", "theirs"); err != nil {
		t.Fatal(err)
	}
	if err := j.Fence(t.Context()); !errors.Is(err, ErrLost) {
		t.Errorf("the steward died: %v", err)
	}
	if err := j.Fence(t.Context()); !errors.Is(err, ErrClosed) {
		t.Errorf("after that: %v", err)
	}
	if got, ok := j.Get(0, "card"); !ok || string(got) != "theirs" {
		t.Errorf("%q, %v", got, ok)
	}
}

func TestAbandonedWait(t *testing.T) {
	mine, theirs := pair(t)
	store, err := keys.Create(2)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	s := &steward{t: t, conn: theirs, store: store}
	var serving sync.WaitGroup
	serving.Go(func() { s.welcome(0, 2) }) // it answers nothing else
	j, err := Join(mine)
	serving.Wait()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	reason := errors.New("the user is tired")
	waiting := time.AfterFunc(10*time.Millisecond, func() { cancel(reason) })
	defer waiting.Stop()
	if err := j.Fence(ctx); !errors.Is(err, reason) {
		t.Errorf("%v, want %v", err, reason)
	}
	if err := j.Close(); err != nil {
		t.Error(err)
	}
}

// Answers that are none.
func TestJoinDistrusts(t *testing.T) {
	store, err := keys.Create(2)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	plain, err := os.CreateTemp(t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	defer plain.Close()
	for name, answer := range map[string]struct {
		bytes string
		with  *os.File
		want  error
	}{
		"nothing":         {"", nil, ErrLost},
		"no descriptor":   {string(wire.AppendJoin(nil, 0, 2)), nil, wire.ErrMalformed},
		"no store":        {string(wire.AppendJoin(nil, 0, 2)), plain, keys.ErrDamaged},
		"another size":    {string(wire.AppendJoin(nil, 0, 3)), store.File(), keys.ErrDamaged},
		"another op":      {string(wire.Append(nil, wire.Fence, make([]byte, wire.JoinBytes))), store.File(), wire.ErrMalformed},
		"a rank too many": {string(wire.AppendJoin(nil, 2, 2)), store.File(), wire.ErrMalformed},
		"text":            {"cmd=response_to_init rc=-1\n", nil, wire.ErrMalformed},
	} {
		mine, theirs := pair(t)
		var rights []byte
		if answer.with != nil {
			rights = unix.UnixRights(int(answer.with.Fd()))
		}
		if answer.bytes != "" {
			if err := unix.Sendmsg(int(theirs.Fd()), []byte(answer.bytes), rights, nil, 0); err != nil {
				t.Fatal(err)
			}
		}
		if answer.bytes == "" {
			theirs.Close()
		}
		if _, err := Join(mine); !errors.Is(err, answer.want) {
			t.Errorf("%s: %v, want %v", name, err, answer.want)
		}
	}
}

func TestOpenOutsideAJob(t *testing.T) {
	for _, text := range []string{"", "none", "2"} {
		t.Setenv(EnvSocket, text)
		if _, err := Open(); !errors.Is(err, ErrEnvironment) || !strings.Contains(err.Error(), "scrun") {
			t.Errorf("%q: %v", text, err)
		}
	}
	file, err := os.CreateTemp(t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Join(file); !errors.Is(err, ErrEnvironment) {
		t.Error(err)
	}
}

func TestAwait(t *testing.T) {
	j, s := start(t, 0)
	ctx, cancel := context.WithCancel(t.Context())
	var waiting sync.WaitGroup
	waiting.Go(func() {
		if value, err := j.Await(t.Context(), 2, "card"); err != nil || string(value) != "theirs" {
			t.Errorf("%q, %v", value, err)
		}
		if _, err := j.Await(ctx, 2, "never"); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		if _, err := j.Await(t.Context(), 3, "card"); !errors.Is(err, keys.ErrRank) {
			t.Error(err)
		}
	})
	if err := s.store.Put(2, "card", "theirs"); err != nil {
		t.Fatal(err)
	}
	s.store.Announce()
	cancel()
	waiting.Wait()
}

func TestRespawn(t *testing.T) {
	j, _ := start(t, 0)
	if err := j.Respawn(t.Context(), 3); err != nil {
		t.Error(err)
	}
	if n := j.Incarnation(); n != 0 {
		t.Errorf("the first process has the incarnation %d", n)
	}
	t.Setenv(EnvIncarnation, "2")
	if n := j.Incarnation(); n != 2 {
		t.Errorf("incarnation %d", n)
	}
}
