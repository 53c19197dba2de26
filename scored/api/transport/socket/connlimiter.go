package socket

import (
	"bufio"
	"net"
	"sync"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

const (
	// MaxConnections bounds a user's connections to a socket: some hundred attached scruns, each of
	// which has two. Without this bound, one user could take all descriptors of the daemon, and
	// nobody else could connect.
	MaxConnections = 2048
	// readBuffer takes what a submission sends at once, most of it the environment: HTTP/2 reads
	// the head of each frame by itself, and would need two system calls a frame. It is small beside
	// what a connection takes anyway.
	readBuffer = 4 << 10
	// connLimiterLines bounds the lines per second in the log about refused connections.
	connLimiterLines = 1
)

// ConnLimiter is a listener that closes the connections of users who have too many.
type ConnLimiter struct {
	net.Listener
	max    int
	logger *zap.Logger

	mu   sync.Mutex
	open map[uint32]int
}

// NewConnLimiter allows each user so many connections.
func NewConnLimiter(listener net.Listener, maxConns int, logger *zap.Logger) *ConnLimiter {
	sampled := logger.WithOptions(zap.WrapCore(func(core zapcore.Core) zapcore.Core {
		return zapcore.NewSamplerWithOptions(core, time.Second, connLimiterLines, 0)
	}))
	return &ConnLimiter{Listener: listener, max: maxConns, logger: sampled, open: make(map[uint32]int)}
}

// Accept implements net.Listener.
func (c *ConnLimiter) Accept() (net.Conn, error) {
	for {
		conn, err := c.Listener.Accept()
		if err != nil {
			return nil, err
		}
		unix, ok := conn.(*net.UnixConn)
		if !ok {
			return conn, nil
		}
		uid, err := PeerUID(unix)
		if err == nil && c.enter(uid) {
			return newCountedConn(unix, func() { c.leave(uid) }), nil
		}
		c.logger.Warn("a user has too many connections; one more was closed", zap.Uint32("uid", uid), zap.Int("most", c.max), zap.Error(err))
		_ = unix.Close() // nothing was sent on it
	}
}

func (c *ConnLimiter) enter(uid uint32) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.open[uid] >= c.max {
		return false
	}
	c.open[uid]++
	return true
}

func (c *ConnLimiter) leave(uid uint32) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.open[uid]--; c.open[uid] == 0 {
		delete(c.open, uid)
	}
}

// countedConn is a connection that is counted and has a read buffer.
type countedConn struct {
	*net.UnixConn
	ahead *bufio.Reader
	leave func()
}

func newCountedConn(conn *net.UnixConn, leave func()) *countedConn {
	return &countedConn{UnixConn: conn, ahead: bufio.NewReaderSize(conn, readBuffer), leave: sync.OnceFunc(leave)}
}

// Read implements net.Conn. As without the buffer, reading goes on when a deadline that has passed
// is moved.
func (m *countedConn) Read(p []byte) (int, error) { return m.ahead.Read(p) }

// Close implements net.Conn.
func (m *countedConn) Close() error {
	m.leave()
	return m.UnixConn.Close()
}
