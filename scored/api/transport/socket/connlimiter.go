package socket

import (
	"bufio"
	"errors"
	"net"
	"score/scored/api"
	"sync"
	"sync/atomic"
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
	// maxUnreadOfUser bounds what a user's programs send on connections while they do not read what
	// the daemon writes there. net/http keeps up to 10,000 answers to control frames of a connection,
	// 120 bytes each, and a ping has 17. A program that has stopped has sent at most the windows of
	// its streams: this allows 256 attached scruns that send input and are stopped while output
	// waits for them.
	maxUnreadOfUser = 256 * socketWindow
	// socketWindow is what may be sent on a stream before the daemon answers.
	socketWindow = api.MaxStreamMessage
	// written is how long a connection has had no write under way when nothing waits to be written
	// there: net/http begins the next write at once.
	written = 100 * time.Millisecond
	// connLimiterLines bounds the lines per second in the log about refused connections.
	connLimiterLines = 1
)

// errUnread is the end of a connection of a user who reads too little.
var errUnread = errors.New("the user's programs send much and do not read the answers")

// ConnLimiter is a listener that closes the connections of users who have too many, or who send much
// and do not read the answers.
type ConnLimiter struct {
	net.Listener
	max       int
	maxUnread int
	logger    *zap.Logger

	mu   sync.Mutex
	open map[uint32]*userConns
}

// userConns are the connections of a user.
type userConns struct {
	conns  map[*countedConn]struct{}
	unread int // sum of theirs
}

// NewConnLimiter allows each user so many connections.
func NewConnLimiter(listener net.Listener, maxConns int, logger *zap.Logger) *ConnLimiter {
	sampled := logger.WithOptions(zap.WrapCore(func(core zapcore.Core) zapcore.Core {
		return zapcore.NewSamplerWithOptions(core, time.Second, connLimiterLines, 0)
	}))
	return &ConnLimiter{Listener: listener, max: maxConns, maxUnread: maxUnreadOfUser, logger: sampled, open: make(map[uint32]*userConns)}
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
	has.unread -= conn.unread
	if delete(has.conns, conn); len(has.conns) == 0 {
		delete(c.open, conn.uid)
	}
}

// tooMuch counts bytes that came on a connection while a write waited for its peer, and reports
// whether the user's connections have too many.
func (c *ConnLimiter) tooMuch(conn *countedConn, bytes int) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	has := c.open[conn.uid]
	if has == nil {
		return true // it is closed
	}
	conn.unread += bytes
	if has.unread += bytes; has.unread <= c.maxUnread {
		return false
	}
	now := time.Now()
	for other := range has.conns {
		if other.allWritten(now) {
			has.unread -= other.unread
			other.unread = 0
		}
	}
	return has.unread > c.maxUnread
}

// countedConn is a connection that is counted and has a read buffer.
type countedConn struct {
	*net.UnixConn
	ahead   *bufio.Reader
	limiter *ConnLimiter
	uid     uint32
	unread  int // bytes that came while a write waited; the limiter's lock guards it

	writes    atomic.Int32 // under way
	lastWrite atomic.Int64 // when it ended, in nanoseconds of the Unix epoch
}

// Read implements net.Conn. As without the buffer, reading goes on when a deadline that has passed
// is moved.
func (m *countedConn) Read(p []byte) (int, error) {
	n, err := m.ahead.Read(p)
	if n > 0 && m.writes.Load() > 0 && m.limiter.tooMuch(m, n) {
		m.limiter.logger.Warn("a user's programs send much and do not read the answers; a connection was closed", zap.Uint32("uid", m.uid))
		_ = m.Close() // a write waits for the peer
		return 0, errUnread
	}
	return n, err
}

// Write implements net.Conn.
func (m *countedConn) Write(p []byte) (int, error) {
	m.writes.Add(1)
	defer func() {
		m.lastWrite.Store(time.Now().UnixNano())
		m.writes.Add(-1)
	}()
	return m.UnixConn.Write(p)
}

// allWritten reports whether nothing waits to be written.
func (m *countedConn) allWritten(now time.Time) bool {
	return m.writes.Load() == 0 && now.UnixNano()-m.lastWrite.Load() > int64(written)
}

// Close implements net.Conn.
func (m *countedConn) Close() error {
	m.limiter.leave(m)
	return m.UnixConn.Close()
}
