package flowctl

// maxRTT bounds a measured round trip, so that a receiver that slept does not
// spoil the estimate for long, and the sums below stay in 32 bits.
const maxRTT = 1 << 30 // about a second

// measure takes a round trip of ns into the estimate, as RFC 6298 does. It has no
// ambiguity to avoid (Karn): each transmission has a number of its own. Answers
// wait for company (AckDelay), and the estimate includes that on purpose: it is
// when to ask that is being learnt.
func (s *Sender) measure(ns int64) {
	r := uint32(min(max(ns, 1), maxRTT))
	if s.srtt == 0 {
		s.srtt, s.rttvar = r, r/2
		return
	}
	d := max(r, s.srtt) - min(r, s.srtt)
	s.rttvar += d/4 - s.rttvar/4
	s.srtt += r/8 - s.srtt/8
	s.srtt = max(s.srtt, 1)
}

// rto returns how long an answer may take before the sender asks, in ns.
func (s *Sender) rto(c *Config) int64 {
	if s.srtt == 0 {
		return int64(c.FirstRTO)
	}
	return min(max(int64(s.srtt)+4*int64(s.rttvar), int64(c.RTOFloor)), int64(c.RTOMax))
}

// patience returns how long the sender now waits before the next ask, in ns.
func (s *Sender) patience(c *Config) int64 {
	if s.hold != Open {
		return backoff(int64(c.Probe), int64(c.ProbeMax), s.tries)
	}
	return backoff(s.rto(c), int64(c.RTOMax), s.tries-min(s.tries, steadyAsks))
}
