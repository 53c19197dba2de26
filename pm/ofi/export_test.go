package ofi

// Sleeping reports whether a goroutine waits in Wait.
func (d *Domain) Sleeping() bool { return d.gate.waiter.Load() != nil }
