package tag

import (
	"score/pm/tag/match"
	"score/pm/uct"
)

// peer is the stack's state of a rank.
type peer struct {
	ep     *uct.EP
	eager  int // bytes of the longest eager message
	credit credit
	window window
	offers int // offers, and messages beyond the window, that wait here or are being fetched
	// Bytes of messages beyond the window longer than shortBeyond: sent and not taken yet, and
	// kept.
	beyondSent, beyondKept int

	saying bool // a window update waits to be sent
	gone   bool // nothing more comes
}

// known returns the state of a rank; nil before the first message.
func (s *Stack) known(rank int) *peer {
	if uint(rank) < uint(len(s.peers)) {
		return s.peers[rank]
	}
	return nil
}

func (s *Stack) peer(rank int) (*peer, error) {
	if p := s.known(rank); p != nil {
		return p, nil
	}
	return s.newPeer(rank)
}

func (s *Stack) newPeer(rank int) (*peer, error) {
	ep, err := s.iface.EP(rank)
	if err != nil {
		return nil, err
	}
	for rank >= len(s.peers) {
		s.peers = append(s.peers, nil) // of another job
	}
	p := &peer{ep: ep, eager: s.settings.EagerRemote}
	if ep.Local() {
		p.eager = s.settings.EagerLocal
	}
	p.credit.limit = minWindow
	p.window = window{size: minWindow, announced: minWindow}
	s.peers[rank] = p
	return p, nil
}

// from is the peer of a packet.
func (s *Stack) from(p *uct.Packet) *peer {
	peer, _ := s.peer(p.Source) // uct knows the rank
	return peer
}

// alive reports whether the source of a receive may still send, if that is known at once.
func (s *Stack) alive(source uint32) bool {
	rank := int(source & rankMask)
	return source == match.AnySource || rank < len(s.peers) && (s.peers[rank] == nil || !s.peers[rank].gone)
}

// sourceError returns why a source that is not alive cannot send.
func (s *Stack) sourceError(source uint32) error {
	p, err := s.peer(int(source & rankMask))
	if err == nil && p.gone {
		err = p.ep.Err()
	}
	return err
}
