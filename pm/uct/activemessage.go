package uct

import "score/pm"

// Send sends an active message with a copy of data as payload. The error is ErrAgain, ErrTooLong,
// or why the peer is lost.
func (e *EP) Send(h Header, data []byte) error {
	if err := e.ready(); err != nil {
		return err
	}
	return e.send(h, data)
}

func (e *EP) send(h Header, data []byte) error {
	return e.sendHead(pm.Head{First: h.word(), Words: 1}, data)
}

// SendWord is Send of a payload that begins with a word, before the copy of data. With up to 32
// bytes of data it is one cache line, as what Send sends with up to 40.
func (e *EP) SendWord(h Header, word uint64, data []byte) error {
	if err := e.ready(); err != nil {
		return err
	}
	return e.sendHead(pm.Head{First: h.word(), Second: word, Words: 2}, data)
}

// SendWords is SendWord with a second word; one cache line has room for 24 bytes of data.
func (e *EP) SendWords(h Header, first, second uint64, data []byte) error {
	if err := e.ready(); err != nil {
		return err
	}
	return e.sendHead(pm.Head{First: h.word(), Second: first, Third: second, Words: 3}, data)
}

func (e *EP) sendHead(h pm.Head, data []byte) error {
	if e.other != nil {
		return e.sendHeadOther(h, data)
	}
	if err := e.iface.ch.SendHead(e.rank, h, data); err != nil {
		e.wanted = 8*h.Words + len(data)
		return e.onSendError(err)
	}
	e.wanted = 0
	return nil
}

// Reserve returns the place of an active message's payload of n bytes, to be filled and then sent
// by Commit: with an exclusive lane that is the receiver's memory. Errors are those of Send.
func (e *EP) Reserve(h Header, n int) ([]byte, error) {
	if err := e.ready(); err != nil {
		return nil, err
	}
	return e.reserve(h, n)
}

func (e *EP) reserve(h Header, n int) ([]byte, error) {
	if e.other != nil {
		return e.reserveOther(h, n)
	}
	buf, err := e.iface.ch.GetSendBuffer(e.rank, HeadBytes+n)
	if err != nil {
		e.wanted = HeadBytes + n
		return nil, e.onSendError(err)
	}
	e.wanted = 0
	putHeader(buf, h)
	return buf[HeadBytes:], nil
}

// Commit sends the message that Reserve began. With ErrAgain nothing was sent, and the message
// must be begun again.
func (e *EP) Commit() error {
	if e.other != nil {
		return e.commitOther()
	}
	if err := e.iface.ch.Send(); err != nil {
		return e.onSendError(err)
	}
	return nil
}

func (e *EP) onSendError(err error) error {
	err = sendError(err)
	if err == ErrAgain || err == ErrTooLong { //nolint:errorlint // sendError returns these very values
		return err
	}
	e.lose(err)
	return err
}
