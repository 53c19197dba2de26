package pm

import (
	"context"
	"errors"
	"fmt"
	"os"
	"score/channels"
	"score/channels/handover"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// Process is this process as a rank of a job.
type Process struct {
	client   *handover.Client
	settings Settings
	lanes    *channels.LaneMemory // of all channels
	leave    context.CancelFunc
	speedUp  sync.WaitGroup

	mu   sync.Mutex
	open map[int]*Channel
}

// EnvPath is the Unix socket of the daemon that has the rank's contexts. The launcher sets
// it where it cannot hand a descriptor down (EnvSocket, which goes first).
const EnvPath = "SCORE_PM_SOCKET"

// Join makes the process a rank: on the socket it gets its contexts. The
// socket becomes the process's, also when Join fails.
func Join(socket *os.File, settings Settings) (*Process, error) {
	unix.CloseOnExec(int(socket.Fd()))
	conn, err := handover.Conn(socket)
	if err != nil {
		return nil, fmt.Errorf("%w: the descriptor in %s is no socket: %w", ErrEnvironment, EnvSocket, err)
	}
	return join(handover.NewClient(conn), settings), nil
}

// JoinAt makes the process a rank of the daemon that listens at the path, and that knows its
// ranks by their process numbers. The error wraps ErrEnvironment.
func JoinAt(path string, settings Settings) (*Process, error) {
	client, err := handover.Connect(path)
	if err != nil {
		return nil, fmt.Errorf("%w: %s=%s: %w", ErrEnvironment, EnvPath, path, err)
	}
	return join(client, settings), nil
}

func join(client *handover.Client, settings Settings) *Process {
	ctx, leave := context.WithCancel(context.Background())
	p := &Process{client: client, settings: settings, lanes: settings.laneMemory(), leave: leave, open: map[int]*Channel{}}
	p.speedUp.Go(func() { speedUpLater(ctx) })
	return p
}

// speedUpAfter is how long a process runs before channels.SpeedUp, which takes 5 to 20 ms: a
// process that ends meanwhile, as one that only says hello would, ends no sooner.
const speedUpAfter = 250 * time.Millisecond

func speedUpLater(ctx context.Context) {
	select {
	case <-time.After(speedUpAfter):
		channels.SpeedUp()
	case <-ctx.Done():
	}
}

// MaxChannel is the highest number of a channel. Channel 0 is no program's.
const MaxChannel = handover.Channels - 1

// Open opens a channel of the rank, 1 to MaxChannel. Every rank of the job opens the channels that
// it wants to receive on. The error is ErrChannel, ErrOpen, ErrNoChannel, ErrNode, ErrMemory,
// ErrFlow, ErrPlaces, ErrEnvironment, or the system's.
func (p *Process) Open(channel int, options ...OpenOption) (*Channel, error) {
	o := openOptions{flow: p.settings.Flow}
	for _, option := range options {
		option(&o)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.open[channel] != nil {
		return nil, fmt.Errorf("%w: %d", ErrOpen, channel)
	}
	if channel < 1 || channel > MaxChannel {
		return nil, fmt.Errorf("%w: %d; a program has channels 1 to %d", ErrChannel, channel, MaxChannel)
	}
	c, err := newChannel(p, uint32(channel), o.flow)
	if err != nil {
		return nil, err
	}
	p.open[channel] = c
	return c, nil
}

func (p *Process) forget(channel int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.open, channel)
}

// Close closes the channels that are still open, and leaves the job.
func (p *Process) Close() error {
	p.mu.Lock()
	var rest []*Channel
	for _, c := range p.open {
		rest = append(rest, c)
	}
	p.mu.Unlock()
	var errs []error
	for _, c := range rest {
		errs = append(errs, c.Close())
	}
	p.leave()
	p.speedUp.Wait()
	return errors.Join(append(errs, p.client.Close())...)
}

// environment is the process that the launcher's environment describes.
var environment = sync.OnceValues(func() (*Process, error) {
	text, path := os.Getenv(EnvSocket), os.Getenv(EnvPath)
	if text == "" && path == "" {
		return nil, fmt.Errorf("%w: neither %s nor %s is set; start the program with scrun", ErrEnvironment, EnvSocket, EnvPath)
	}
	settings, err := SettingsFromEnvironment()
	if err != nil {
		return nil, err
	}
	if text == "" {
		return JoinAt(path, settings)
	}
	fd, err := strconv.Atoi(text)
	if err != nil || fd < 3 {
		return nil, fmt.Errorf("%w: %s=%s is not a descriptor", ErrEnvironment, EnvSocket, text)
	}
	return Join(os.NewFile(uintptr(fd), "pm"), settings)
})

// Open opens a channel of this process, which must have been started as a rank; else the error is
// ErrEnvironment. It is Process.Open otherwise.
func Open(channel int, options ...OpenOption) (*Channel, error) {
	p, err := environment()
	if err != nil {
		return nil, err
	}
	return p.Open(channel, options...)
}
