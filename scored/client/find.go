package client

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"score/scored/api"
	"syscall"
	"time"
)

const (
	// SystemSocket is where the daemon of a host's cluster listens.
	SystemSocket = "/run/score/scored.sock"

	// Embedded, given as a cluster, asks for none of the daemons.
	Embedded = "embedded"

	// SocketVariable names the environment variable that chooses a daemon.
	SocketVariable = "SCORE_SOCKET"

	devSocketName = "dev.sock"
)

// ErrNoCluster is returned if no daemon was chosen and none was found.
var ErrNoCluster = errors.New("no cluster is configured on this host: start one with 'scored server' or 'scored dev', or 'scored agent' on a node of one")

// errLongName is what the kernel's EINVAL means: a name does not fit into sun_path (unix(7)).
var errLongName = errors.New("its name is longer than the 107 bytes that a socket's may have")

// Choice is the user's choice of a cluster, if any.
type Choice struct {
	// Socket is a path, or Embedded, or empty for the usual places.
	Socket string
	// Origin names where Socket was given, for errors: "--cluster".
	Origin string

	// System and Dev replace the usual places where not empty. An agent's socket is beside a
	// server's.
	System string
	Dev    string
}

// ChoiceFrom returns the choice of a user by flag, which takes precedence, or
// by the environment that getenv reads.
func ChoiceFrom(flag string, getenv func(string) string) Choice {
	if flag != "" {
		return Choice{Socket: flag, Origin: "--cluster"}
	}
	if value := getenv(SocketVariable); value != "" {
		return Choice{Socket: value, Origin: SocketVariable}
	}
	return Choice{}
}

// Dial connects to the chosen daemon, else to the host's, a server or where there is none an agent,
// else to the user's own (of scored dev). It returns ErrNoCluster if there is none of them. A
// daemon that should be there and does not answer is an error, so that nobody gets an unexpected
// cluster. Before it returns such an error it waits for as long as the context's patience says,
// since the daemon may be restarting.
func Dial(ctx context.Context, choice Choice) (*Client, error) {
	patience, _ := patienceOf(ctx)
	wait := patience.NewWait()
	wait.notifyAfter = notifyGoneAfter
	for {
		c, err := dialOnce(ctx, choice)
		if err == nil {
			return c, nil
		}
		socket := choice.expected(err)
		if socket == "" || !wait.Continue(time.Now(), fmt.Errorf("no daemon listens at %s", socket)) || !pause(ctx) {
			return nil, err
		}
	}
}

// expected returns the socket at which a daemon may listen soon, after a failure to connect; "":
// none. A daemon that ends removes its socket and leaves the directory, so where there is no
// directory there was no daemon.
func (c *Choice) expected(err error) string {
	socket := cmp.Or(c.Socket, c.System, SystemSocket)
	if socket == Embedded || !isGone(err) && !errors.Is(err, ErrNoCluster) {
		return ""
	}
	if info, err := os.Stat(filepath.Dir(socket)); err != nil || !info.IsDir() {
		return ""
	}
	return socket
}

func dialOnce(ctx context.Context, choice Choice) (*Client, error) {
	if choice.Socket == Embedded {
		return nil, ErrNoCluster
	}
	if choice.Socket != "" {
		return dialChosen(ctx, choice)
	}
	return dialUsual(ctx, choice)
}

func dialChosen(ctx context.Context, choice Choice) (*Client, error) {
	sockets := candidates(choice.Socket)
	conn, err := dialFirst(ctx, sockets)
	switch {
	case errors.Is(err, errQueueFull):
		return nil, err
	case err != nil:
		return nil, fmt.Errorf("no daemon answers at %s, which %s names: %w; start it, or give another socket", choice.Socket, choice.Origin, cause(err))
	}
	return newClient(sockets, conn), nil
}

func dialUsual(ctx context.Context, choice Choice) (*Client, error) {
	system := cmp.Or(choice.System, SystemSocket)
	sockets := candidates(system)
	conn, err := dialFirst(ctx, sockets)
	if err == nil {
		return newClient(sockets, conn), nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return nil, silent(system, "server", err)
	}
	for _, agent := range sockets[1:] {
		conn, err := dialSocket(ctx, agent)
		if err == nil {
			return newClient(sockets, conn), nil
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return nil, silent(agent, "agent", err)
		}
	}
	return dialDev(ctx, choice)
}

// silent returns the error that a daemon which has run on this host does not answer.
func silent(socket, daemon string, err error) error {
	if errors.Is(err, errQueueFull) {
		return err
	}
	return fmt.Errorf(
		"the daemon of this host does not answer at %s: %w; start it with 'scored %s', or run on this machine alone with --cluster=%s",
		socket,
		cause(err),
		daemon,
		Embedded,
	)
}

// candidates returns the sockets to try: the named one, then that of this host's agent beside it,
// unless others than its owner could put one there.
func candidates(socket string) []string {
	dir := filepath.Dir(socket)
	agent := filepath.Join(dir, api.AgentSocketName)
	info, err := os.Stat(dir)
	if err != nil || agent == filepath.Clean(socket) || info.Mode().Perm()&0o022 != 0 {
		return []string{socket}
	}
	return []string{socket, agent}
}

// dialDev treats a socket that nobody listens on as absent: a development
// cluster that was killed leaves it behind, and its user knows.
func dialDev(ctx context.Context, choice Choice) (*Client, error) {
	dev, err := devSocket(choice)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, ErrNoCluster
	}
	if err != nil {
		return nil, err
	}
	conn, err := dialSocket(ctx, dev)
	if err == nil {
		return newClient([]string{dev}, conn), nil
	}
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ECONNREFUSED) {
		return nil, ErrNoCluster
	}
	return nil, fmt.Errorf("the development cluster does not answer at %s: %w", dev, cause(err))
}

func devSocket(choice Choice) (string, error) {
	if choice.Dev != "" {
		return choice.Dev, nil
	}
	dir, err := UserDir()
	if err != nil {
		return "", err
	}
	return filepath.Join(dir, devSocketName), nil
}

// DevSocket returns where the user's development cluster listens; its directory is made if it is
// not there.
func DevSocket() (string, error) {
	dir, err := MakeUserDir()
	if err != nil {
		return "", err
	}
	return filepath.Join(dir, devSocketName), nil
}

// cause returns the errno of a failed dial, since the rest of net's text repeats
// the path that our sentence has already.
func cause(err error) error {
	if errors.Is(err, syscall.EINVAL) {
		return errLongName
	}
	if errno, ok := errors.AsType[syscall.Errno](err); ok {
		return errno
	}
	if operation, ok := errors.AsType[*net.OpError](err); ok {
		return operation.Err
	}
	return err
}
