package pmix

import (
	"errors"
	"fmt"
	"score/nodeagent/pmi/pmix/bfrops"
	"score/nodeagent/pmi/pmix/message"
	"time"
)

func (s *Server) begin(now time.Time) {
	clear(s.effects)
	s.now, s.effects, s.out = now, s.effects[:0], s.out[:0]
	if cap(s.out) > keepOut {
		s.out = nil
	}
}

// keepOut is the size in bytes of the largest buffer for replies that is kept.
const keepOut = 1 << 20

func (s *Server) effect(e Effect) { s.effects = append(s.effects, e) }

// errReplies ends a job if the replies to one request exceed MaxReplies.
var errReplies = errors.New("the answers to one request are too large")

// violate ends the job because of what a client, or another node, did.
func (s *Server) violate(c *conn, err error) {
	if s.ended {
		return
	}
	s.ended = true
	rank := NoRank
	if c != nil && c.rank != NoRank {
		rank = c.rank
		err = fmt.Errorf("rank %d: %w", rank, err)
	}
	s.effect(Effect{Kind: Violation, Rank: rank, Err: err})
}

// writer returns a writer for a message to a client; send sends it.
func (s *Server) writer(c *conn) *bfrops.Writer {
	return bfrops.NewWriter(c.encoding, nil)
}

// send sends a message. If out moves to a larger array later, the old array keeps the bytes.
func (s *Server) send(c *conn, tag uint32, w *bfrops.Writer) {
	if c.closing {
		return
	}
	if len(s.out)+len(w.Bytes()) > MaxReplies {
		s.violate(c, fmt.Errorf("%w: more than %d bytes", errReplies, MaxReplies))
		return
	}
	start := len(s.out)
	s.out = message.Header{Peer: c.peer(), Tag: tag, Length: uint32(len(w.Bytes()))}.Append(s.out)
	s.out = append(s.out, w.Bytes()...)
	s.effect(Effect{Kind: Write, Conn: c.id, Bytes: s.out[start:len(s.out):len(s.out)]})
}

func (s *Server) status(c *conn, tag uint32, code int32) {
	w := s.writer(c)
	message.WriteStatus(w, code)
	s.send(c, tag, w)
}
