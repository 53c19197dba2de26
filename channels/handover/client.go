package handover

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"score/channels"
	"score/channels/abi"
	"score/channels/scm"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// Errors of Client's methods.
var (
	ErrRank      = errors.New("handover: the rank is not on this node")
	ErrChannel   = errors.New("handover: no such channel")
	ErrGone      = errors.New("handover: the rank ended")
	ErrExhausted = errors.New("handover: the node has no memory for the context")
	ErrNotGiven  = errors.New("handover: the job was not given as many channels")
	ErrFlow      = errors.New("handover: the channel of that rank uses another flow control")
	ErrPlaces    = errors.New("handover: too many ranks on other nodes for credits")
	ErrAlone     = errors.New("handover: no rank of the job is on another node")
	ErrLost      = errors.New("handover: the daemon that holds the contexts does not answer")
)

// Channels is how many channels a rank has: a program uses a few, and each is a file, a socket
// and half a megabyte.
const Channels = 16

// patience is how long an answer may take: making an image takes well under a
// millisecond, but the daemon's node may be overloaded.
const patience = 10 * time.Second

const (
	// redialPause is the time between two tries to reach a daemon that was lost.
	redialPause = 10 * time.Millisecond
	// maxRedials bounds how often a request is repeated: a daemon that hangs up each time refuses
	// this rank.
	maxRedials = 3
	// startPatience is how long a daemon may take to start again: nobody listens in between.
	startPatience = 5 * time.Second
)

// Client asks for images and the network. Several goroutines may use it.
type Client struct {
	mu     sync.Mutex
	conn   *net.UnixConn
	dial   func() (*net.UnixConn, error) // nil: the connection is all there is
	closed bool
}

// NewClient uses the connection, which becomes the client's.
func NewClient(conn *net.UnixConn) *Client { return &Client{conn: conn} }

// Connect makes a client of the daemon at a path (Dial). A daemon that was started again is found
// there again: a question that the one before it did not answer is asked once more.
func Connect(path string) (*Client, error) {
	conn, err := Dial(path)
	for limit := time.Now().Add(startPatience); refused(err) && time.Now().Before(limit); {
		time.Sleep(redialPause)
		conn, err = Dial(path)
	}
	if err != nil {
		return nil, err
	}
	c := NewClient(conn)
	c.dial = func() (*net.UnixConn, error) { return Dial(path) }
	return c, nil
}

// refused reports whether nobody listens yet, or the listener's queue is full.
func refused(err error) bool { return errors.Is(err, unix.ECONNREFUSED) || errors.Is(err, unix.EAGAIN) }

// Close hangs up.
func (c *Client) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	return c.conn.Close()
}

// redial replaces a connection that has ended, and waits for a daemon that starts until limit. The
// caller holds mu.
func (c *Client) redial(limit time.Time) bool {
	if c.dial == nil || c.closed {
		return false
	}
	for ; time.Now().Before(limit); time.Sleep(redialPause) {
		if conn, err := c.dial(); err == nil {
			_ = c.conn.Close() // it has ended
			c.conn = conn
			return true
		}
	}
	return false
}

// Image asks for the image of a rank, or of the asking rank itself with Own, on a channel with
// ACK/NACK.
func (c *Client) Image(channel, rank uint32) (*channels.Image, error) {
	return c.ImageWith(channel, rank, abi.FlowNack)
}

// ImageWith is Image on a channel with the flow control given, abi.FlowNack or abi.FlowCredits.
func (c *Client) ImageWith(channel, rank, flow uint32) (*channels.Image, error) {
	files, err := c.ask(Request{Channel: channel, Rank: rank, Flow: flow}, 1)
	if err != nil {
		return nil, fmt.Errorf("channel %d: %w", channel, err)
	}
	img, err := channels.Attach(files[0])
	if err != nil {
		return nil, err
	}
	if img.Channel != channel || rank != Own && img.Rank != rank || img.Geometry().Flow != flow {
		_ = img.Close()
		return nil, channels.ErrDamaged
	}
	return img, nil
}

// Network asks for the socket of the asking rank's own context, on which other nodes reach it, and
// for the place map of its job. ErrAlone if no rank is on another node.
func (c *Client) Network(channel uint32) (socket, places *os.File, err error) {
	files, err := c.ask(Request{Channel: channel, Rank: Own, Network: true}, 2)
	if err != nil {
		return nil, nil, fmt.Errorf("channel %d: %w", channel, err)
	}
	return files[0], files[1], nil
}

// Bulk asks for the socket for bulk datagrams of the asking rank's own context. ErrAlone if there
// is none.
func (c *Client) Bulk(channel uint32) (*os.File, error) {
	files, err := c.ask(Request{Channel: channel, Rank: Own, Bulk: true}, 1)
	if err != nil {
		return nil, fmt.Errorf("channel %d: %w", channel, err)
	}
	return files[0], nil
}

// maxFiles bounds the descriptors of an answer.
const maxFiles = 2

// ask sends a request and waits for the answer, which must come with want files.
func (c *Client) ask(request Request, want int) ([]*os.File, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	limit := time.Now().Add(patience)
	for asked := 0; ; asked++ {
		files, err := c.askOnce(request, want)
		if !errors.Is(err, ErrLost) || asked == maxRedials || !c.redial(limit) {
			return files, err
		}
	}
}

func (c *Client) askOnce(request Request, want int) ([]*os.File, error) {
	packet := request.encode()
	if _, err := c.conn.Write(packet[:]); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrLost, err)
	}
	if err := c.awaitAnswer(time.Now().Add(patience)); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrLost, err)
	}
	buf, rights := make([]byte, answerBytes+1), make([]byte, unix.CmsgSpace(4*maxFiles))
	n, rn, _, _, err := c.conn.ReadMsgUnix(buf, rights)
	if err == nil && n == 0 {
		err = io.EOF
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrLost, err)
	}
	files := received(rights[:rn])
	status, err := decodeStatus(buf[:n])
	if err == nil {
		err = status.err()
	}
	if err == nil && len(files) != want {
		err = errPacket
	}
	if err != nil {
		for _, file := range files {
			file.Close()
		}
		return nil, err
	}
	return files, nil
}

// awaitAnswer waits until there is something to read. The kernel measures the time: because of a
// timer of Go's runtime, even a stopped one, a thread can wait until it would have fired, and the
// program would then look as if something other than a message will wake it.
func (c *Client) awaitAnswer(limit time.Time) error {
	raw, err := c.conn.SyscallConn()
	if err != nil {
		return err
	}
	var inner error
	err = raw.Control(func(fd uintptr) { inner = pollUntil(int(fd), limit) })
	return errors.Join(err, inner)
}

func pollUntil(fd int, limit time.Time) error {
	fds := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
	for {
		n, err := unix.Poll(fds, int(max(time.Until(limit), 0).Milliseconds()))
		switch {
		case err == unix.EINTR:
		case err != nil:
			return os.NewSyscallError("poll", err)
		case n == 0:
			return os.ErrDeadlineExceeded
		default:
			return nil
		}
	}
}

func (s Status) err() error {
	switch s {
	case StatusOK:
		return nil
	case StatusRank:
		return ErrRank
	case StatusChannel:
		return ErrChannel
	case StatusGone:
		return ErrGone
	case StatusExhausted:
		return ErrExhausted
	case StatusAlone:
		return ErrAlone
	case StatusNotGiven:
		return ErrNotGiven
	case StatusFlow:
		return ErrFlow
	case StatusPlaces:
		return ErrPlaces
	default:
		return errPacket
	}
}

// received takes the descriptors out of a control message. More than maxFiles do not fit.
func received(control []byte) (files []*os.File) {
	fds, _ := scm.Rights(control) // the caller misses what should have come
	for _, fd := range fds {
		files = append(files, os.NewFile(uintptr(fd), "handover"))
	}
	return files
}
