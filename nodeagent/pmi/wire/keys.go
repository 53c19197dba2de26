package wire

import (
	"fmt"
	"score/channels/keys/wire"
	"score/nodeagent/pmi"
)

// nextKeys returns the first frame of a client of package keys, its op and body, and its length in
// the input.
func nextKeys(data []byte) (part []byte, size int, err error) {
	if len(data) < wire.HeadBytes {
		return nil, 0, nil
	}
	_, body, err := wire.Head(data)
	if err != nil {
		return nil, 0, fmt.Errorf("%w: %w", pmi.ErrMalformed, err)
	}
	size = wire.HeadBytes + body
	if len(data) < size {
		return nil, 0, nil
	}
	return data[wire.HeadBytes-1 : size], size, nil
}

// onHello handles the hello of a client of package keys.
func (x *session) onHello(s *Server, line []byte) error {
	if string(line)+"\n" != wire.Hello {
		return fmt.Errorf("%w: %.32q; program and cluster need the same version of score", pmi.ErrMalformed, line)
	}
	if err := s.engine.Init(x.rank); err != nil {
		return err
	}
	x.spoken, x.mode = true, modeKeys
	start := len(s.out)
	s.out = wire.AppendJoin(s.out, x.rank, s.engine.Size())
	s.effects = append(s.effects, Effect{Kind: Join, Rank: x.rank, Bytes: s.out[start:len(s.out):len(s.out)]})
	return nil
}

// keysFrame handles a frame of such a client.
func (x *session) keysFrame(s *Server, frame []byte) error {
	op, body := wire.Op(frame[0]), frame[1:]
	if x.asked != 0 {
		return fmt.Errorf("%w: a %v before the answer to the %v", pmi.ErrOrder, op, x.asked)
	}
	if err := s.engine.Active(x.rank, []byte(op.String())); err != nil {
		return err
	}
	switch op {
	case wire.Commit:
		if err := x.commitKeys(s, body); err != nil {
			return err
		}
		x.done(s, op)
		return nil
	case wire.Leave:
		if len(body) > 0 {
			break
		}
		x.done(s, op)
		return s.engine.Finalize(x.rank)
	case wire.Fence, wire.Barrier:
		if len(body) > 0 {
			break
		}
		x.asked = op
		return s.engine.CollectIn(x.rank, pmi.Tag(op), op == wire.Fence)
	case wire.Respawn:
		times, err := wire.ReadRespawn(body)
		if err == nil {
			err = s.engine.AskRespawn(x.rank, times)
		}
		if err == nil {
			x.done(s, op)
		}
		return err
	case wire.Join:
	}
	return fmt.Errorf("%w: %v with %d bytes", pmi.ErrMalformed, op, len(body))
}

// done answers a request that was carried out at once.
func (x *session) done(s *Server, op wire.Op) {
	start := len(s.out)
	s.out = wire.Append(s.out, op, nil)
	s.reply(x.rank, start)
}

func (x *session) commitKeys(s *Server, body []byte) error {
	return wire.ReadPairs(body, func(scope wire.Scope, key, value string) error {
		return s.engine.Commit(x.rank, scopes[scope], key, value)
	})
}

// scopes maps scopes of package keys to the engine's.
var scopes = [...]pmi.Scope{wire.Global: pmi.ScopeGlobal, wire.Node: pmi.ScopeNode, wire.Remote: pmi.ScopeRemote}

// answerKeys appends the answer to a fence or barrier.
func (x *session) answerKeys(dst []byte, event *pmi.Event) []byte {
	x.asked = 0
	if event.Outcome == pmi.Missing {
		return wire.Append(dst, wire.Op(event.Tag), []byte(event.Value[:min(len(event.Value), wire.MaxReason)]))
	}
	return wire.Append(dst, wire.Op(event.Tag), nil)
}
