package uct

import (
	"encoding/binary"
	"score/pm"
)

func (i *Iface) installHandlers() {
	h := &i.handlers
	h[idAck] = func(p *Packet) { p.EP.onAck(p.Arg) }
	h[idNak] = onNak
	h[idPut] = onPut
	h[idPutCopy] = onPutCopy
	h[idGet] = onGet
	h[idData] = onData
	h[idDone] = onDone
	h[idAtomic] = onAtomic
	h[idDescribe] = onDescribe
	h[idDescription] = onDescription
	h[idBye] = onBye
	h[idCopies] = onCopies
	h[idAsk] = onAsk
	h[idProbe] = onProbe
	h[idSent] = onSent
	h[idPutPull] = onPutPull
}

// words reads leading words of the payload into to. If they are missing, it returns false and drops
// the peer.
func (p *Packet) words(to []uint64) bool {
	head, err := p.Prefix(8 * len(to))
	if err != nil {
		if err == ErrPeer { //nolint:errorlint // Prefix returns this very value
			p.EP.Violated()
		}
		return false
	}
	for i := range to {
		to[i] = binary.LittleEndian.Uint64(head[8*i:])
	}
	return true
}

// readPut reads the words of a put, n of them: the last is immediate data, which not each put has.
func (p *Packet) readPut(to []uint64) (n int, ok bool) {
	n = len(to)
	if p.Bits&bitData == 0 {
		n--
	}
	return n, p.words(to[:n])
}

func onNak(p *Packet) {
	var last [1]uint64
	if p.words(last[:]) {
		p.EP.onNak(p.Arg, uint32(last[0]), status(p.Bits))
	}
}

func onBye(p *Packet) { p.EP.fail(pm.ErrPeerClosed) }
