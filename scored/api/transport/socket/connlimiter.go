package socket

import (
	"bufio"
	"errors"
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
	// maxUnanswered bounds what a user's programs send on connections, beyond what the daemon has
	// written there, in frames that need answers: net/http keeps up to 10,000 answers of a
	// connection, 120 bytes each, and a ping has 17.
	maxUnanswered = 8 << 20
	// connLimiterLines bounds the lines per second in the log about refused connections.
	connLimiterLines = 1
)

// errUnanswered is the end of a connection of a user who reads too little.
var errUnanswered = errors.New("the user's programs send much and do not read the answers")

// ConnLimiter is a listener that closes the connections of users who have too many, or who send
// much and do not read the answers.
type ConnLimiter struct {
	net.Listener
	max           int
	maxUnanswered int
	logger        *zap.Logger

	mu   sync.Mutex
	open map[uint32]*userConns
}

// userConns are the connections of a user.
type userConns struct {
	conns      map[*countedConn]struct{}
	unanswered int // sum of theirs
}

// NewConnLimiter allows each user so many connections.
func NewConnLimiter(listener net.Listener, maxConns int, logger *zap.Logger) *ConnLimiter {
	sampled := logger.WithOptions(zap.WrapCore(func(core zapcore.Core) zapcore.Core {
		return zapcore.NewSamplerWithOptions(core, time.Second, connLimiterLines, 0)
	}))
	return &ConnLimiter{Listener: listener, max: maxConns, maxUnanswered: maxUnanswered, logger: sampled, open: make(map[uint32]*userConns)}
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
		if err == nil {
			if counted := c.enter(unix, uid); counted != nil {
				return counted, nil
			}
		}
		c.logger.Warn("a user has too many connections; one more was closed", zap.Uint32("uid", uid), zap.Int("most", c.max), zap.Error(err))
		_ = unix.Close() // nothing was sent on it
	}
}

// enter counts a connection; nil: the user has too many.
func (c *ConnLimiter) enter(conn *net.UnixConn, uid uint32) *countedConn {
	c.mu.Lock()
	defer c.mu.Unlock()
	has := c.open[uid]
	if has == nil {
		has = &userConns{conns: make(map[*countedConn]struct{})}
	}
	if len(has.conns) >= c.max {
		return nil
	}
	counted := &countedConn{UnixConn: conn, ahead: bufio.NewReaderSize(conn, readBuffer), limiter: c, uid: uid}
	has.conns[counted] = struct{}{}
	c.open[uid] = has
	return counted
}

// leave may be called again.
func (c *ConnLimiter) leave(conn *countedConn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	has := c.open[conn.uid]
	if has == nil {
		return
	}
	if _, counted := has.conns[conn]; !counted {
		return
	}
	has.unanswered -= conn.unanswered
	if delete(has.conns, conn); len(has.conns) == 0 {
		delete(c.open, conn.uid)
	}
}

// asked counts bytes of control frames that came on a connection, and reports whether the user's
// connections have too many.
func (c *ConnLimiter) asked(conn *countedConn, bytes int) (tooMany bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	has := c.open[conn.uid]
	if has == nil {
		return true // it is closed
	}
	conn.unanswered += bytes
	has.unanswered += bytes
	return has.unanswered > c.maxUnanswered
}

// onAnswered counts bytes that were written on a connection: net/http writes answers to control
// frames before all else.
func (c *ConnLimiter) onAnswered(conn *countedConn, bytes int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if has := c.open[conn.uid]; has != nil {
		bytes = min(bytes, conn.unanswered)
		conn.unanswered -= bytes
		has.unanswered -= bytes
	}
}

// countedConn is a connection that is counted and has a read buffer.
type countedConn struct {
	*net.UnixConn
	ahead      *bufio.Reader
	frames     controlFrames // used by Read only
	limiter    *ConnLimiter
	uid        uint32
	unanswered int // bytes of control frames beyond those written; the limiter's lock guards it
}

// Read implements net.Conn. As without the buffer, reading goes on when a deadline that has passed
// is moved.
func (m *countedConn) Read(p []byte) (int, error) {
	n, err := m.ahead.Read(p)
	if control := m.frames.count(p[:n]); control > 0 && m.limiter.asked(m, control) {
		m.limiter.logger.Warn("a user's programs send much and do not read the answers; a connection was closed", zap.Uint32("uid", m.uid))
		_ = m.Close() // a write waits for the peer
		return 0, errUnanswered
	}
	return n, err
}

// Write implements net.Conn.
func (m *countedConn) Write(p []byte) (int, error) {
	n, err := m.UnixConn.Write(p)
	m.limiter.onAnswered(m, n)
	return n, err
}

// Close implements net.Conn.
func (m *countedConn) Close() error {
	m.limiter.leave(m)
	return m.UnixConn.Close()
}
