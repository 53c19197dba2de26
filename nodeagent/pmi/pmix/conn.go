package pmix

import (
	"errors"
	"fmt"
	"score/nodeagent/pmi"
	"score/nodeagent/pmi/pmix/bfrops"
	"score/nodeagent/pmi/pmix/message"
)

// conn is one connection:
//
//	hello --whole hello--> asking --Admit--> admitted --request--> admitted
//	any --refused, violation--> closing
type conn struct {
	id   ConnID
	rank int // NoRank until it is admitted
	// claimed is the rank that the hello named, while the claim is being checked.
	claimed  int
	asking   bool
	closing  bool // it is refused
	hungUp   bool // and ends
	encoding bfrops.Encoding
	release  int // of its libpmix: 5 for 5.0.7
	// unread is why the client cannot be served.
	unread string
	// rest is input that is not yet a whole message.
	rest []byte
}

// peer returns the client's number in headers.
func (c *conn) peer() uint32 { return uint32(c.rank) }

// feed handles all whole messages and keeps the rest.
func (c *conn) feed(s *Server, data []byte) error {
	rest := c.rest
	c.rest = nil
	s.pending -= len(rest)
	if len(rest) > 0 {
		rest = append(rest, data...)
		data = rest
	}
	for !s.ended && !c.closing && !c.asking {
		size, err := c.next(data)
		if err != nil {
			return err
		}
		if size == 0 || len(data) < size {
			break
		}
		whole := data[:size]
		data = data[size:]
		if err := c.take(s, whole); err != nil {
			return err
		}
		s.deliver() // effects keep the order in which they were caused
	}
	if c.closing || len(data) == 0 {
		return nil
	}
	if len(data) == len(rest) {
		c.rest = rest // a message that comes in pieces is not moved for each of them
	} else {
		c.rest = append(rest[:0], data...) // rest may overlap data; append moves the bytes down
	}
	if s.pending += len(c.rest); s.pending > MaxPending {
		return fmt.Errorf("%w: messages of more than %d bytes are on their way", pmi.ErrFull, MaxPending)
	}
	return nil
}

// next returns the length of the first message with its header; 0 if the header is not whole.
func (c *conn) next(data []byte) (int, error) {
	if len(data) < message.HeaderLen {
		return 0, nil
	}
	if c.rank == NoRank {
		n := message.HelloLength(data)
		if n > message.MaxHello {
			return 0, fmt.Errorf("%w: a greeting of %d bytes, the most is %d", pmi.ErrTooLong, n, message.MaxHello)
		}
		return message.HeaderLen + int(n), nil
	}
	n := message.ReadHeader(data).Length
	if n > MaxMessage {
		return 0, fmt.Errorf("%w: a PMIx message of %d bytes, the most is %d", pmi.ErrTooLong, n, MaxMessage)
	}
	return message.HeaderLen + int(n), nil
}

func (c *conn) take(s *Server, whole []byte) error {
	if c.rank == NoRank {
		return c.onHello(s, whole[message.HeaderLen:])
	}
	header := message.ReadHeader(whole)
	return c.request(s, header.Tag, whole[message.HeaderLen:])
}

// security is the method with which clients must authenticate. The server does not trust their
// credential: the caller decides, by Admit.
const security = "native"

// errRefused means that a client of the job cannot be served.
var errRefused = errors.New("a PMIx client is refused")

// onHello checks a hello. A bad hello ends only the connection, since it may not come from the job.
func (c *conn) onHello(s *Server, data []byte) error {
	hello, err := message.ReadHello(data)
	if err != nil {
		s.refuse(c, message.ErrBadParam)
		return nil
	}
	encoding, known := bfrops.Named(hello.Encoding)
	slot, here := s.engine.Slot(int(hello.Rank))
	switch {
	case hello.Namespace != s.Namespace() || hello.Rank >= pmi.MaxRanks || !here || hello.Flag != 0:
		s.refuse(c, message.ErrNotFound)
		return nil
	case s.ranks[slot] != nil:
		s.refuse(c, message.ErrExists)
		return nil
	}
	c.claimed, c.encoding, c.release, c.asking = int(hello.Rank), encoding, hello.Release(), true
	if c.unread = unread(&hello, known); c.unread != "" {
		c.encoding = 0 // only a process of the job may end it by this, hence not before Admit
	}
	s.effect(Effect{Kind: Authenticate, Conn: c.id, Rank: c.claimed})
	return nil
}

// unread describes why a client of the job cannot be served; empty: it can.
func unread(hello *message.Hello, known bool) string {
	switch {
	case hello.Security != security:
		return fmt.Sprintf("libpmix %s proves who it is by %q, which this server does not check; unset the parameter psec of PMIx, or make it %q",
			hello.Version, hello.Security, security)
	case !known || hello.BufferKind != bfrops.NotDescribed:
		return fmt.Sprintf("libpmix %s writes %q in buffers of kind %d, which this server does not read; it reads v41, v4 and v3 in kind %d",
			hello.Version, hello.Encoding, hello.BufferKind, bfrops.NotDescribed)
	}
	return ""
}

// refuse refuses a client. The connection ends after the client's next message: libpmix sends its
// first request whatever the answer was, and waits for ever if the connection has ended before
// that.
func (s *Server) refuse(c *conn, code int32) {
	start := len(s.out)
	s.out = message.AppendRefusal(s.out, code)
	s.effect(Effect{Kind: Write, Conn: c.id, Bytes: s.out[start:len(s.out):len(s.out)]})
	c.closing = true
	if len(c.rest) > 0 {
		s.disconnect(c)
	}
}

// disconnect ends the connection of a refused client.
func (s *Server) disconnect(c *conn) {
	if !c.hungUp {
		c.hungUp = true
		s.effect(Effect{Kind: Close, Conn: c.id})
	}
}

// Admit answers Authenticate. ok is set if the process belongs to the job.
func (s *Server) Admit(id ConnID, ok bool) []Effect {
	s.begin(s.now)
	c := s.conns[id]
	if c == nil || !c.asking || s.ended {
		return nil
	}
	c.asking = false
	slot, _ := s.engine.Slot(c.claimed)
	switch {
	case !ok:
		s.refuse(c, message.ErrCredential)
		return s.effects
	case s.ranks[slot] != nil:
		s.refuse(c, message.ErrExists)
		return s.effects
	case c.encoding == 0:
		s.refuse(c, message.ErrUnsupported)
		s.violate(nil, fmt.Errorf("rank %d: %w: %s", c.claimed, errRefused, c.unread))
		return s.effects
	}
	if err := s.welcome(c, slot); err != nil {
		s.refuse(c, message.ErrBadParam)
		if !errors.Is(err, pmi.ErrOrder) || s.engine.Protocol() != pmi.ProtocolPMIx {
			s.violate(nil, err)
		}
	}
	s.deliver()
	if err := c.feed(s, nil); err != nil { // what it sent without waiting for the answer
		s.violate(c, err)
	}
	return s.effects
}

func (s *Server) welcome(c *conn, slot int) error {
	if err := s.engine.SetProtocol(c.claimed, pmi.ProtocolPMIx); err != nil {
		return err
	}
	if err := s.engine.Init(c.claimed); err != nil {
		return err
	}
	c.rank = c.claimed
	s.hello--
	s.ranks[slot] = c
	start := len(s.out)
	s.out = message.AppendWelcome(s.out, c.peer())
	s.effect(Effect{Kind: Write, Conn: c.id, Bytes: s.out[start:len(s.out):len(s.out)]})
	return nil
}
