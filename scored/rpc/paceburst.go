package rpc

import "time"

const (
	// burstTime is for how long a user may save up what a host carries at its pace, to have it
	// carried at once: 60 s of two CPUs are 120 to 170 MB, and cost other jobs about two seconds of
	// a CPU.
	burstTime = 60 * time.Second
	// maxBursts is how many users' bursts may come right behind each other. In the long run the
	// bursts of all users take as much from other jobs as the pace does.
	maxBursts = 2
)

// allowance is what may be carried at once. It is saved up at the host's pace.
type allowance struct {
	used    float64 // of the whole, in bytes with messageCost
	at      time.Time
	emptied bool // it was used up; it serves again when half of it is back
}

// use takes bytes from an allowance of a host that carries perSecond bytes, and reports whether
// there is more.
func (a *allowance) use(bytes int, whole, perSecond float64, now time.Time) (more bool) {
	if !a.at.IsZero() {
		a.used = max(0, a.used-perSecond*now.Sub(a.at).Seconds())
	}
	a.at = now
	a.used = min(a.used+float64(bytes), whole)
	switch {
	case a.used >= whole:
		a.emptied = true
	case a.used <= whole/2:
		a.emptied = false
	}
	return !a.emptied
}

// bursts are the allowances of a host.
type bursts struct {
	users map[uint32]*allowance
	all   allowance
}

// use takes bytes of a user's stream, and reports whether more may be carried at once.
func (b *bursts) use(uid uint32, bytes, perSecond int, now time.Time) (more bool) {
	u := b.users[uid]
	if u == nil {
		b.forget(now)
		u = new(allowance)
		b.users[uid] = u
	}
	pace := float64(perSecond)
	whole := pace * burstTime.Seconds()
	atOnce := 0 // what came at the pace counts for its user alone
	if !u.emptied && !b.all.emptied {
		atOnce = bytes
	}
	more = b.all.use(atOnce, maxBursts*whole, pace, now)
	return u.use(bytes, whole, pace, now) && more
}

// forget drops allowances that are whole again.
func (b *bursts) forget(now time.Time) {
	for uid, u := range b.users {
		if now.Sub(u.at) > burstTime {
			delete(b.users, uid)
		}
	}
}
