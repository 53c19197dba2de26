package flowctl

// grow adds to the window when a whole one was acknowledged; n frames are, that were not before.
func (s *Sender) grow(c *Config, n uint32) {
	w := s.frames(c)
	grown := uint32(s.grown) + min(n, w)
	if grown >= w {
		grown -= w
		w = min(w+max(w/growth, 1), uint32(c.MaxWindow))
	}
	s.window, s.grown = uint16(w), uint16(grown)
}

// cut makes the window smaller by its part-th, if anything was in flight.
func (s *Sender) cut(c *Config, part uint32) {
	if s.una == s.nxt {
		return
	}
	w := s.frames(c)
	s.window, s.grown = uint16(max(w-w/part, uint32(c.MinWindow))), 0
}

// frames returns the window, begun and within its bounds.
func (s *Sender) frames(c *Config) uint32 {
	if s.window == 0 {
		return uint32(c.InitialWindow)
	}
	return uint32(min(s.window, c.MaxWindow))
}
