package hosts

// mark remembers where the hosts' journals end.
func (s *site) mark() {
	s.t.Helper()
	for _, h := range s.hosts {
		h.must("rm -f /var/tmp/cursor; journalctl -q -n 1 --cursor-file /var/tmp/cursor")
	}
}

// calm fails for each line of an error in the hosts' journals, since the mark or at all, from the
// daemons, their units or the kernel.
func (s *site) calm() {
	s.t.Helper()
	for _, h := range s.hosts {
		if out := h.must("journalctl -q -p err --no-pager --cursor-file /var/tmp/cursor | grep -i score || true"); out != "" {
			s.t.Errorf("%s has told of errors: %s", h.name, out)
		}
	}
}
