package stewardpool

// Stewards with a /dev/shm of their own have a copy of the host's mounts. Where the host's later
// mounts do not reach it (privateshm.WatchMounts), a job gets no steward that lacks one.

// unknownMounts is that of a steward that another agent has started.
const unknownMounts = -1

// countMountChanges returns the number of changes of the host's mounts so far.
func (p *Pool) countMountChanges() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.dropOutdated()
	return p.mountChanges
}

// dropOutdated removes the warm stewards that lack later mounts. The caller holds mu.
func (p *Pool) dropOutdated() {
	if !p.hostMounts.Changed() {
		return
	}
	p.mountChanges++
	old := p.warm
	p.warm = nil
	if len(old) == 0 {
		return
	}
	p.working.Go(func() {
		for _, s := range old {
			p.discard(s)
		}
	})
}

// closeMounts ends the watch. Stewards that are given back later find the pool closed.
func (p *Pool) closeMounts() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.hostMounts.Close()
	p.hostMounts = nil
}

// outdated reports whether a steward lacks later mounts. The caller holds mu.
func (p *Pool) outdated(s *Steward) bool {
	p.dropOutdated()
	return p.hostMounts != nil && s.mounts != p.mountChanges
}
