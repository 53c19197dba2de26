package handover

import (
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
	"time"

	"score/channels"

	"golang.org/x/sys/unix"
)

// Errors of Client's methods.
var (
	ErrRank      = errors.New("handover: the rank is not on this node")
	ErrChannel   = errors.New("handover: no such channel")
	ErrGone      = errors.New("handover: the rank ended")
	ErrExhausted = errors.New("handover: the node has no memory for the context")
	ErrNotGiven  = errors.New("handover: the job was not given as many channels")
	ErrAlone     = errors.New("handover: no rank of the job is on another node")
	ErrLost      = errors.New("handover: the daemon that holds the contexts does not answer")
)

// Channels is how many channels a rank has: a program uses a few, and each is a file, a socket
// and half a megabyte.
const Channels = 16

// patience is how long an answer may take: making an image takes well under a
// millisecond, but the daemon's node may be overloaded.
const patience = 10 * time.Second

// Client asks for images and the network. Several goroutines may use it.
type Client struct {
	mu   sync.Mutex
	conn *net.UnixConn
}

// NewClient uses the connection, which becomes the client's.
func NewClient(conn *net.UnixConn) *Client { return &Client{conn: conn} }

// Close hangs up.
func (c *Client) Close() error { return c.conn.Close() }

// Image asks for the image of a rank, or of the asking rank itself with Own.
func (c *Client) Image(channel, rank uint32) (*channels.Image, error) {
	files, err := c.ask(Request{Channel: channel, Rank: rank}, 1)
	if err != nil {
		return nil, fmt.Errorf("channel %d: %w", channel, err)
	}
	img, err := channels.Attach(files[0])
	if err != nil {
		return nil, err
	}
	if img.Channel != channel || rank != Own && img.Rank != rank {
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

// mostFiles bounds the descriptors of an answer.
const mostFiles = 2

// ask sends a request and waits for the answer, which must come with so many files.
func (c *Client) ask(request Request, want int) ([]*os.File, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.conn.SetDeadline(time.Now().Add(patience)); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrLost, err)
	}
	defer c.noDeadline()
	packet := request.encode()
	if _, err := c.conn.Write(packet[:]); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrLost, err)
	}
	buf, rights := make([]byte, answerBytes+1), make([]byte, unix.CmsgSpace(4*mostFiles))
	n, rn, _, _, err := c.conn.ReadMsgUnix(buf, rights)
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

// noDeadline leaves no timer behind: of a program that waits for nothing but messages it can be told that
// nothing else will wake it.
func (c *Client) noDeadline() { _ = c.conn.SetDeadline(time.Time{}) }

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
	default:
		return errPacket
	}
}

// received takes the descriptors out of a control message. More than mostFiles do not fit.
func received(control []byte) (files []*os.File) {
	messages, err := unix.ParseSocketControlMessage(control)
	if err != nil {
		return nil
	}
	for i := range messages {
		fds, err := unix.ParseUnixRights(&messages[i])
		if err != nil {
			continue
		}
		for _, fd := range fds {
			unix.CloseOnExec(fd)
			files = append(files, os.NewFile(uintptr(fd), "handover"))
		}
	}
	return files
}
