// Package wire is the protocol between a test and the agent in its guest: frames over a terminal.
package wire

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"sync"
)

// Kind is what a frame is.
type Kind uint8

const (
	Up       Kind = 1 + iota // guest: the agent serves
	Run                      // test: run the shell command of the payload
	Stop                     // test: kill the command
	Stdout                   // guest: what the command has written
	Stderr                   // guest: likewise, to its standard error
	Exit                     // guest: the command ended, with the status that the payload's first byte is
	Failed                   // guest: the payload tells why it cannot serve
	PowerOff                 // test: write the files back, and stop the machine
)

// MaxPayload bounds a frame. The terminal between loses nothing of frames that are shorter than its
// buffer of 4,096 bytes.
const MaxPayload = 2048

// Frame is one message about the command that a test has given a number.
type Frame struct {
	Command uint32
	Kind    Kind
	Payload []byte
}

// header is the size of a frame's head: command, kind, length of the payload.
const header = 4 + 1 + 2

// ErrLong is the error of a frame with too much payload.
var ErrLong = errors.New("frame too long")

// Conn sends and receives frames. One goroutine may receive; any may send.
type Conn struct {
	stream io.ReadWriter
	mu     sync.Mutex // one frame at a time
}

// NewConn speaks the protocol over a stream of bytes.
func NewConn(stream io.ReadWriter) *Conn { return &Conn{stream: stream} }

// Send sends a frame whole.
func (c *Conn) Send(f Frame) error {
	if len(f.Payload) > MaxPayload {
		return fmt.Errorf("send %d bytes: %w", len(f.Payload), ErrLong)
	}
	out := binary.LittleEndian.AppendUint32(make([]byte, 0, header+len(f.Payload)), f.Command)
	out = binary.LittleEndian.AppendUint16(append(out, byte(f.Kind)), uint16(len(f.Payload)))
	c.mu.Lock()
	defer c.mu.Unlock()
	_, err := c.stream.Write(append(out, f.Payload...))
	return err
}

// Receive returns the next frame. Its payload is the caller's.
func (c *Conn) Receive() (Frame, error) {
	var head [header]byte
	if _, err := io.ReadFull(c.stream, head[:]); err != nil {
		return Frame{}, err
	}
	size := binary.LittleEndian.Uint16(head[5:])
	if size > MaxPayload {
		return Frame{}, fmt.Errorf("receive %d bytes: %w", size, ErrLong)
	}
	f := Frame{Command: binary.LittleEndian.Uint32(head[:]), Kind: Kind(head[4]), Payload: make([]byte, size)}
	_, err := io.ReadFull(c.stream, f.Payload)
	return f, err
}

// Settings are what a guest reads at boot, in a file of its first file system.
type Settings struct {
	Hostname string
	Console  string            // the terminal of the frames
	Disk     string            // the device of the root; without it, this machine's root below a memory file system
	Modules  string            // the directory of the kernel's modules, on this machine
	Load     []string          // names of modules
	Shared   map[string]string // directories here, by where the guest sees them
	Init     []string          // takes the place of the agent as process 1
	Offset   int64             // nanoseconds that the guest's clock is ahead
}

// SettingsPath is where the file is.
const SettingsPath = "/settings.json"
