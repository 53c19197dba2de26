package reliable

import "time"

// ResendAll returns all messages that were sent and are not acknowledged, for a new agent: the
// previous one may have lost them.
func (e *Endpoint) ResendAll(now time.Time) (messages []Message) {
	for _, to := range e.sorted() {
		p := e.peers[to]
		for i := range p.open {
			if k := &p.open[i]; !k.waits {
				messages = append(messages, e.repeat(now, to, p, k))
			}
		}
	}
	return messages
}

func (e *Endpoint) repeat(now time.Time, to Peer, p *peer, k *unacked) Message {
	if k.again = now.Add(k.pause); k.again.After(k.until) {
		k.again = k.until
	}
	k.pause = min(2*k.pause, maxRepeat)
	e.wake(k.again)
	m := e.message(now, to, p, k)
	m.Repeated = true
	return m
}

// begin sends a message that has waited.
func (e *Endpoint) begin(now time.Time, to Peer, p *peer, k *unacked) Message {
	k.waits = false
	e.waiting, e.transit = e.waiting-1, e.transit+len(k.data)
	m := e.repeat(now, to, p, k)
	m.Repeated = false
	return m
}

// Deadline returns when Tick must be called next; zero: never.
func (e *Endpoint) Deadline() time.Time { return e.due }

func (e *Endpoint) wake(at time.Time) {
	if e.due.IsZero() || at.Before(e.due) {
		e.due = at
	}
}

// Tick returns the messages to send now, and those that count as lost.
func (e *Endpoint) Tick(now time.Time) (messages, lost []Message) {
	e.due = time.Time{}
	full := false // a message does not fit: later ones do not overtake it, or it would wait for ever
	for _, to := range e.sorted() {
		p := e.peers[to]
		for i := 0; i < len(p.open); i++ {
			switch k := &p.open[i]; {
			case !now.Before(k.until):
				message, _ := e.Withdraw(now, to, k.number)
				lost = append(lost, message)
				i--
			case k.waits && !full && e.hasRoom(len(k.data)):
				messages = append(messages, e.begin(now, to, p, k))
			case k.waits:
				full = true
				e.wake(k.until)
			case !now.Before(k.again):
				messages = append(messages, e.repeat(now, to, p, k))
			default:
				e.wake(k.again)
			}
		}
		e.expirePause(now, p)
		switch at := p.headerAt(); {
		case at.IsZero():
		case !now.Before(at):
			messages = append(messages, e.message(now, to, p, nil))
		default:
			e.wake(at)
		}
	}
	return messages, lost
}
