package staging

import (
	"maps"
	"score/nodeagent/launch"
	"slices"
)

// Hold keeps files until the job is released. Further calls add files.
func (c *Cache) Hold(job uint64, u *launch.User, files []File) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, f := range files {
		if k := (key{u.UID, f.Sum}); !slices.Contains(c.held[job], k) {
			c.held[job] = append(c.held[job], k)
		}
	}
}

// HoldsFile reports whether a job holds a user's file.
func (c *Cache) HoldsFile(job uint64, u *launch.User, f File) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Contains(c.held[job], key{u.UID, f.Sum})
}

// Release ends a job's holds, if it has any.
func (c *Cache) Release(job uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.held, job)
}

// ReleaseBut ends the holds of all jobs for which keeps is false.
func (c *Cache) ReleaseBut(keeps func(job uint64) bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	maps.DeleteFunc(c.held, func(job uint64, _ []key) bool { return !keeps(job) })
}
