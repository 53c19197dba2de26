package reliable

import "time"

// ResendAll returns all unacknowledged messages, for a new agent: the previous one may have lost
// them.
func (e *Endpoint) ResendAll(now time.Time) (messages []Message) {
	for _, to := range e.sorted() {
		p := e.peers[to]
		for i := range p.open {
			messages = append(messages, e.repeat(now, to, p, &p.open[i]))
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
	return e.message(to, p, k)
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
	for _, to := range e.sorted() {
		p := e.peers[to]
		for i := 0; i < len(p.open); i++ {
			switch k := &p.open[i]; {
			case !now.Before(k.until):
				message, _ := e.Withdraw(to, k.number)
				lost = append(lost, message)
				i--
			case !now.Before(k.again):
				messages = append(messages, e.repeat(now, to, p, k))
			default:
				e.wake(k.again)
			}
		}
		switch {
		case p.ackAt.IsZero():
		case !now.Before(p.ackAt):
			messages = append(messages, e.message(to, p, nil))
		default:
			e.wake(p.ackAt)
		}
	}
	return messages, lost
}
