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

// Errors of Client.Image.
var (
	ErrRank      = errors.New("handover: the rank is not on this node")
	ErrChannel   = errors.New("handover: no such channel")
	ErrGone      = errors.New("handover: the rank ended")
	ErrExhausted = errors.New("handover: the node has no memory for the context")
	ErrLost      = errors.New("handover: the daemon that holds the contexts does not answer")
)

// patience is how long an answer may take: making an image takes well under a
// millisecond, but the daemon's node may be overloaded.
const patience = 10 * time.Second

// Client asks for images. Several goroutines may use it.
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
	file, err := c.file(Request{Channel: channel, Rank: rank})
	if err != nil {
		return nil, fmt.Errorf("channel %d: %w", channel, err)
	}
	img, err := channels.Attach(file)
	if err != nil {
		return nil, err
	}
	if img.Channel != channel || rank != Own && img.Rank != rank {
		_ = img.Close()
		return nil, channels.ErrDamaged
	}
	return img, nil
}

func (c *Client) file(request Request) (*os.File, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.conn.SetDeadline(time.Now().Add(patience)); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrLost, err)
	}
	packet := request.encode()
	if _, err := c.conn.Write(packet[:]); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrLost, err)
	}
	buf, rights := make([]byte, answerBytes+1), make([]byte, unix.CmsgSpace(4))
	n, rn, _, _, err := c.conn.ReadMsgUnix(buf, rights)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrLost, err)
	}
	file := firstFile(rights[:rn])
	status, err := decodeStatus(buf[:n])
	if err == nil {
		err = status.err()
	}
	if err == nil && file == nil {
		err = errPacket
	}
	if err != nil && file != nil {
		file.Close()
	}
	if err != nil {
		return nil, err
	}
	return file, nil
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
	default:
		return errPacket
	}
}

// firstFile takes the descriptor out of a control message. More than one do not fit.
func firstFile(control []byte) *os.File {
	messages, err := unix.ParseSocketControlMessage(control)
	if err != nil || len(messages) != 1 {
		return nil
	}
	fds, err := unix.ParseUnixRights(&messages[0])
	if err != nil || len(fds) != 1 {
		return nil
	}
	unix.CloseOnExec(fds[0])
	return os.NewFile(uintptr(fds[0]), "context")
}
