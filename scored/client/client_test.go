package client_test

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"score/scored/api/scorev1"
	"score/scored/client"
	"score/scored/client/clienttest"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"connectrpc.com/connect"
)

func version(name string) clienttest.Daemon {
	return clienttest.Daemon{Version: func() *scorev1.GetVersionResponse {
		return &scorev1.GetVersionResponse{Cluster: name}
	}}
}

// deadSocket is a socket whose daemon was killed.
func deadSocket(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "dead.sock")
	listener, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	listener.SetUnlinkOnClose(false)
	listener.Close()
	return path
}

func TestDialFinds(t *testing.T) {
	chosen, system, dev := clienttest.Serve(t, version("chosen")), clienttest.Serve(t, version("system")), clienttest.Serve(t, version("dev"))
	missing := filepath.Join(t.TempDir(), "missing")
	for name, choice := range map[string]client.Choice{
		"chosen": {Socket: chosen, Origin: "--cluster", System: system, Dev: dev},
		"system": {System: system, Dev: dev},
		"dev":    {System: missing, Dev: dev},
	} {
		c, err := client.Dial(t.Context(), choice)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		for range 2 { // the connection of Dial, and the next use
			reply, err := c.Cluster.GetVersion(t.Context(), connect.NewRequest(&scorev1.GetVersionRequest{}))
			if err != nil || reply.Msg.GetCluster() != name {
				t.Errorf("%s: got %q, %v", name, reply.Msg.GetCluster(), err)
			}
		}
		c.Close()
	}
}

func TestDialFindsNothing(t *testing.T) {
	dead, missing := deadSocket(t), filepath.Join(t.TempDir(), "missing")
	for name, test := range map[string]struct {
		choice client.Choice
		want   string // "": ErrNoCluster
	}{
		"embedded":    {client.Choice{Socket: client.Embedded, System: dead}, ""},
		"none":        {client.Choice{System: missing, Dev: missing}, ""},
		"killed dev":  {client.Choice{System: missing, Dev: dead}, ""},
		"chosen dead": {client.Choice{Socket: dead, Origin: "SCORE_SOCKET"}, "no daemon answers at DEAD, which SCORE_SOCKET names: connection refused; start it, or give another socket"},
		"chosen long": {client.Choice{Socket: "/" + strings.Repeat("x", 110), Origin: "SCORE_SOCKET"}, "no daemon answers at /" + strings.Repeat("x", 110) + ", which SCORE_SOCKET names: its name is longer than the 107 bytes that a socket's may have; start it, or give another socket"},
		"host's dead": {client.Choice{System: dead, Dev: missing}, "the daemon of this host does not answer at DEAD: connection refused; start it with 'scored server', or run on this machine alone with --cluster=embedded"},
	} {
		c, err := client.Dial(client.WithPatience(t.Context(), client.Patience{}), test.choice)
		switch {
		case err == nil:
			c.Close()
			t.Errorf("%s: a daemon was found", name)
		case test.want == "" && !errors.Is(err, client.ErrNoCluster):
			t.Errorf("%s: %v, want ErrNoCluster", name, err)
		case test.want != "" && strings.ReplaceAll(err.Error(), dead, "DEAD") != test.want:
			t.Errorf("%s:\n got %v\nwant %s", name, err, test.want)
		}
	}
}

// TestDialWaitsForARestart: a daemon that is being restarted has removed its socket, or has left
// one at which nobody listens.
func TestDialWaitsForARestart(t *testing.T) {
	for name, usual := range map[string]bool{"chosen": false, "system": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			socket := deadSocket(t)
			choice := client.Choice{Socket: socket, Origin: "--cluster"}
			if usual {
				if err := os.Remove(socket); err != nil {
					t.Fatal(err)
				}
				choice = client.Choice{System: socket, Dev: filepath.Join(t.TempDir(), "missing")}
			}
			var told []string
			c, err := client.Dial(client.WithPatience(t.Context(), client.Patience{Gone: time.Minute, Waiting: func(err error) {
				told = append(told, err.Error())
				if err := os.Rename(clienttest.Serve(t, version(name)), socket); err != nil {
					t.Error(err)
				}
			}}), choice)
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			if want := []string{"no daemon listens at " + socket}; !slices.Equal(told, want) {
				t.Errorf("told %q, want %q", told, want)
			}
		})
	}
}

// TestDialFailsAtOnce where no daemon can be expected: it would wait for ever.
func TestDialFailsAtOnce(t *testing.T) {
	absent := filepath.Join(t.TempDir(), "none", "s")
	notSocket := filepath.Join(t.TempDir(), "file", "s")
	if err := os.WriteFile(filepath.Dir(notSocket), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	ctx := client.WithPatience(t.Context(), client.Patience{Gone: -1, Undecided: -1})
	for _, choice := range []client.Choice{
		{Socket: absent, Origin: "--cluster"},
		{Socket: notSocket, Origin: "--cluster"},
		{Socket: client.Embedded},
		{System: absent, Dev: absent},
	} {
		if _, err := client.Dial(ctx, choice); err == nil {
			t.Errorf("%+v: a daemon was found", choice)
		}
	}
}

func TestChoiceFrom(t *testing.T) {
	getenv := func(string) string { return "/env.sock" }
	if got := client.ChoiceFrom("/flag.sock", getenv); got.Socket != "/flag.sock" || got.Origin != "--cluster" {
		t.Errorf("with a flag: %+v", got)
	}
	if got := client.ChoiceFrom("", getenv); got.Socket != "/env.sock" || got.Origin != "SCORE_SOCKET" {
		t.Errorf("with the environment: %+v", got)
	}
	if got := client.ChoiceFrom("", func(string) string { return "" }); got != (client.Choice{}) {
		t.Errorf("with nothing: %+v", got)
	}
}

func TestSentence(t *testing.T) {
	c := client.New(deadSocket(t))
	_, dead := c.Cluster.GetVersion(t.Context(), connect.NewRequest(&scorev1.GetVersionRequest{}))
	c = client.New(clienttest.Serve(t, clienttest.Daemon{}))
	defer c.Close()
	_, unknown := c.Cluster.GetVersion(t.Context(), connect.NewRequest(&scorev1.GetVersionRequest{}))
	for want, err := range map[string]error{
		"": nil,
		"the cluster's daemon does not answer (connection refused): start it with 'scored server', 'scored agent' or 'scored dev'": dead,
		"the cluster's daemon does not know this request: it is of another version than this program":                              unknown,
		"the cluster's daemon did not answer in time":                                                                              connect.NewError(connect.CodeDeadlineExceeded, context.DeadlineExceeded),
		"there is no job 9":    connect.NewError(connect.CodeNotFound, errors.New("there is no job 9")),
		"two lines":            errors.New("two\nlines\n"),
		"no leader":            connect.NewError(connect.CodeUnavailable, errors.New("no leader")),
		client.ErrLost.Error(): connect.NewError(connect.CodeUnavailable, errors.New("503 Service Unavailable")),
	} {
		if got := client.Sentence(err); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// testTempDirs checks that temporary directories in which sockets cannot be are not used.
func testTempDirs(t *testing.T) {
	t.Helper()
	short := t.TempDir()
	long, broken := filepath.Join(short, strings.Repeat("x", 40)), filepath.Join(short, "a\nb")
	for _, dir := range []string{long, broken} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("XDG_RUNTIME_DIR", "")
	for path, want := range map[string]string{short: short, long: "/tmp", broken: "/tmp", short + "/missing": "/tmp", "relative": "/tmp"} {
		t.Setenv("TMPDIR", path)
		// The directory in /tmp may be there, and not be this user's: only its name is checked.
		if dir, err := client.UserDir(); filepath.Dir(dir) != want {
			t.Errorf("TMPDIR=%q: %q, %v; want one in %s", path, dir, err, want)
		}
	}
}

func TestUserDir(t *testing.T) {
	runtime, temp := t.TempDir(), t.TempDir()
	if err := os.Chmod(runtime, 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("TMPDIR", temp)
	t.Setenv("XDG_RUNTIME_DIR", runtime)
	if _, err := client.UserDir(); !os.IsNotExist(err) {
		t.Errorf("a missing directory: %v", err)
	}
	dir, err := client.MakeUserDir()
	if want := filepath.Join(runtime, "score"); err != nil || dir != want {
		t.Fatalf("got %s, %v; want %s", dir, err, want)
	}
	for path, want := range map[string]string{
		"":                       "in the temporary directory",
		"relative":               "in the temporary directory",
		runtime + "/missing":     "in the temporary directory",
		strings.Repeat("/x", 99): "in the temporary directory",
	} {
		t.Setenv("XDG_RUNTIME_DIR", path)
		if dir, err := client.MakeUserDir(); err != nil || filepath.Dir(dir) != temp {
			t.Errorf("XDG_RUNTIME_DIR=%s: %s, %v; want one %s", path, dir, err, want)
		}
	}
	testTempDirs(t)
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("XDG_RUNTIME_DIR", runtime)
	if _, err := client.MakeUserDir(); err == nil || !strings.Contains(err.Error(), "is not a directory of yours alone") {
		t.Errorf("a directory that others can read: %v", err)
	}
	if err := os.Remove(dir); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(t.TempDir(), dir); err != nil {
		t.Fatal(err)
	}
	if _, err := client.MakeUserDir(); err == nil {
		t.Error("a link was taken for a directory")
	}
}

// besides serves a server's and an agent's socket in one directory, as a host does.
func besides(t *testing.T, server, agent bool) (path string) {
	t.Helper()
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	path = filepath.Join(dir, "scored.sock")
	for name, serves := range map[string]bool{"scored.sock": server, "agent.sock": agent} {
		if serves {
			if err := os.Symlink(clienttest.Serve(t, version(name)), filepath.Join(dir, name)); err != nil {
				t.Fatal(err)
			}
		}
	}
	return path
}

// TestAgentTakesTheServersPlace: where no server listens the agent beside it is asked, from the
// beginning and later.
func TestAgentTakesTheServersPlace(t *testing.T) {
	missing := filepath.Join(t.TempDir(), "missing")
	ask := func(c *client.Client, want string) {
		t.Helper()
		reply, err := c.Cluster.GetVersion(t.Context(), connect.NewRequest(&scorev1.GetVersionRequest{}))
		if err != nil || reply.Msg.GetCluster() != want {
			t.Errorf("got %q, %v, want %q", reply.Msg.GetCluster(), err, want)
		}
	}
	for _, test := range []struct {
		server, agent bool
		want          string
	}{{true, true, "scored.sock"}, {true, false, "scored.sock"}, {false, true, "agent.sock"}} {
		path := besides(t, test.server, test.agent)
		for _, choice := range []client.Choice{{System: path, Dev: missing}, {Socket: path, Origin: "--cluster"}} {
			c, err := client.Dial(t.Context(), choice)
			if err != nil {
				t.Errorf("%+v: %v", test, err)
				continue
			}
			ask(c, test.want)
			another := c.Clone()
			ask(another, test.want)
			another.Close()
			if test.agent { // the server is gone for good
				c.Close()
				_ = os.Remove(path)
				ask(c, "agent.sock")
				if test.server {
					break
				}
			}
			c.Close()
		}
	}
}

// TestAgentThatDoesNotAnswer: the sentence says which daemon to start.
func TestAgentThatDoesNotAnswer(t *testing.T) {
	path, missing := besides(t, false, false), filepath.Join(t.TempDir(), "missing")
	agent := filepath.Join(filepath.Dir(path), "agent.sock")
	if err := os.Rename(deadSocket(t), agent); err != nil {
		t.Fatal(err)
	}
	_, err := client.Dial(t.Context(), client.Choice{System: path, Dev: missing})
	if want := "the daemon of this host does not answer at " + agent + ": connection refused; start it with 'scored agent', or run on this machine alone with --cluster=embedded"; err == nil ||
		err.Error() != want {
		t.Errorf("got %v\nwant %s", err, want)
	}
}

// TestAgentInAPlaceOfOthers: who can put a socket where others look for an agent's is not believed
// to be one.
func TestAgentInAPlaceOfOthers(t *testing.T) {
	path := besides(t, false, true)
	if err := os.Chmod(filepath.Dir(path), 0o777); err != nil {
		t.Fatal(err)
	}
	if _, err := client.Dial(t.Context(), client.Choice{Socket: path, Origin: "--cluster"}); err == nil {
		t.Error("it is believed")
	}
}

// TestAdministratorsGoToTheServer: what takes a role is for the host's server, also while that is
// being restarted; where none is, the agent answers.
func TestAdministratorsGoToTheServer(t *testing.T) {
	path := besides(t, false, true)
	if err := os.Rename(deadSocket(t), path); err != nil {
		t.Fatal(err)
	}
	c := client.New(path)
	defer c.Close()
	set := func() error {
		_, err := c.Cluster.SetSettings(t.Context(), connect.NewRequest(&scorev1.SetSettingsRequest{}))
		return err
	}
	if err := set(); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("the server is away: %v", err)
	}
	if _, err := c.Cluster.GetVersion(t.Context(), connect.NewRequest(&scorev1.GetVersionRequest{})); err != nil {
		t.Errorf("a user's question: %v", err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := set(); connect.CodeOf(err) != connect.CodeUnimplemented {
		t.Errorf("there is no server here: %v", err)
	}
}
