package wire

import (
	"bytes"
	"fmt"
	"score/channels/keys/wire"
	"score/nodeagent/pmi"
	"score/nodeagent/pmi/pmi1"
	"score/nodeagent/pmi/pmi2"
)

// mode is the format of a session's input.
type mode uint8

const (
	// modeLines: lines of PMI-1, and the hello of every client.
	modeLines mode = iota
	// modeFrames: PMI-2, from the answer to its hello on.
	modeFrames
	// modeKeys: package keys, after its hello.
	modeKeys
)

// session is the state of the conversation with one rank.
type session struct {
	rank int
	mode mode
	// rest is an incomplete line or frame at the end of the input.
	rest []byte
	// busy is the held PMI-1 command; PMI-1 clients wait for each answer.
	busy string
	// gone is set when the connection has ended.
	gone bool
	// spoken is set after the first line; only that can be a handshake.
	spoken bool
	spawn  pmi1.Spawn
	// full is set after fullinit, which shows how many stale bytes end each frame of this client.
	full  bool
	stale int
	// tag numbers the held PMI-2 requests; threads holds their thread marks, for clients with
	// threads.
	tag     pmi.Tag
	threads map[pmi.Tag]string
	// asked is the request whose answer a client of package keys waits for.
	asked wire.Op
}

// protocol returns the client's protocol by its first byte: no line of PMI begins like a hello of
// package keys.
func (x *session) protocol(data []byte) pmi.Protocol {
	first := data
	if len(x.rest) > 0 {
		first = x.rest
	}
	if x.mode == modeKeys || x.mode == modeLines && !x.spoken && first[0] == wire.Hello[0] {
		return pmi.ProtocolKeys
	}
	return pmi.ProtocolPMI
}

// drop ends the session of a disconnected rank.
func (x *session) drop() {
	x.gone = true
	x.rest, x.threads, x.spawn = nil, nil, pmi1.Spawn{}
}

// feed handles all complete lines and frames, and keeps the rest.
func (x *session) feed(s *Server, data []byte) error {
	if len(x.rest) > 0 {
		x.rest = append(x.rest, data...)
		data = x.rest
	}
	whole := len(data)
	for !s.ended {
		part, size, err := x.next(data)
		if err != nil {
			return err
		}
		if size == 0 {
			break
		}
		data = data[size:]
		if err := x.request(s, part); err != nil {
			return err
		}
		// Deliver now, so that effects keep the order of their causes.
		s.deliver()
	}
	// A frame that comes byte by byte is not moved for each byte.
	if len(x.rest) > 0 && len(data) == whole {
		return nil
	}
	// rest may overlap data; append moves the bytes down.
	x.rest = append(x.rest[:0], data...)
	return nil
}

// next returns the first line or frame of the input and its length in the input, 0 if it is
// incomplete.
func (x *session) next(data []byte) (part []byte, size int, err error) {
	switch x.mode {
	case modeFrames:
		return nextFrame(data)
	case modeKeys:
		return nextKeys(data)
	case modeLines:
	}
	return nextLine(data)
}

func nextLine(data []byte) (line []byte, size int, err error) {
	end := bytes.IndexByte(data, '\n')
	if end >= pmi1.MaxLine || end < 0 && len(data) >= pmi1.MaxLine {
		return nil, 0, fmt.Errorf("%w: a line of more than %d bytes", pmi.ErrTooLong, pmi1.MaxLine-1)
	}
	if end < 0 {
		return nil, 0, nil
	}
	return data[:end], end + 1, nil
}

func nextFrame(data []byte) (body []byte, size int, err error) {
	if len(data) < pmi2.HeaderLen {
		return nil, 0, nil
	}
	length, err := pmi2.Length(data[:pmi2.HeaderLen])
	if err != nil {
		return nil, 0, err
	}
	size = pmi2.HeaderLen + length
	if len(data) < size {
		return nil, 0, nil
	}
	return data[pmi2.HeaderLen:size], size, nil
}

func (x *session) request(s *Server, part []byte) error {
	switch {
	case x.mode == modeFrames:
		return x.frame(s, part)
	case x.mode == modeKeys:
		return x.keysFrame(s, part)
	case !x.spoken && s.engine.Protocol() == pmi.ProtocolKeys:
		return x.onHello(s, part)
	}
	return x.line(s, part)
}

// answer appends the reply to a held request.
func (x *session) answer(dst []byte, event *pmi.Event) []byte {
	switch x.mode {
	case modeFrames:
		return x.answer2(dst, event)
	case modeKeys:
		return x.answerKeys(dst, event)
	case modeLines:
	}
	return x.answer1(dst, event)
}

// abortText returns a program's reason to abort; it may be empty. MPICH from 4.2 on sends it as
// "message" in both protocols, other clients under the protocol's own key.
func abortText(get func(key string) ([]byte, bool), key string) string {
	text, ok := get("message")
	if !ok {
		text, _ = get(key) // a missing reason is empty
	}
	return string(text)
}
