package daemons

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// mountDisk gives a server's data directory a file system of its own, if the options ask for one.
func (c *Cluster) mountDisk(server *Daemon) error {
	if c.DataDisk == 0 {
		return nil
	}
	dir := server.DataDir()
	if err := os.Mkdir(dir, 0o700); err != nil {
		return err
	}
	if err := unix.Mount("score-test", dir, "tmpfs", 0, fmt.Sprintf("size=%d,mode=700", c.DataDisk)); err != nil {
		return fmt.Errorf("mount a disk for %s: %w", server.Name, err)
	}
	c.disks = append(c.disks, dir)
	return nil
}

// unmountDisks takes the servers' disks away. The servers have ended.
func (c *Cluster) unmountDisks() error {
	var errs []error
	for _, dir := range c.disks {
		errs = append(errs, unix.Unmount(dir, 0))
	}
	c.disks = nil
	return errors.Join(errs...)
}
