package staging

import (
	"errors"
	"path/filepath"
	"score/tests/smalldisk"
	"testing"

	"golang.org/x/sys/unix"
)

// On a disk with less room than the limit, what no job needs makes room for what one does, whoever
// has it.
func TestAFullDiskIsMadeRoomOn(t *testing.T) {
	for name, options := range map[string]string{
		"bytes": "size=8m",
		"files": "size=64m,nr_inodes=6", // of which three are directories
	} {
		t.Run(name, func(t *testing.T) {
			ann, bob := twoUsers(t)
			dir := cacheDir(t)
			smalldisk.Mount(t, filepath.Dir(dir), "mode=755,"+options)
			c := open(t, dir, 1<<30)
			var files []File
			for i := range byte(6) {
				data, file := content(3<<20, 10+i)
				if _, err := c.Get(t.Context(), ann, file, of(data)); err != nil {
					t.Fatalf("file %d: %v", i, err)
				}
				files = append(files, file)
			}
			if !c.Has(ann, files[5]) || c.Has(ann, files[0]) {
				t.Error("the least recently used file does not go first")
			}
			data, file := content(3<<20, 99)
			if _, err := c.Get(t.Context(), bob, file, of(data)); err != nil {
				t.Errorf("another user's file: %v", err)
			}
			c.Hold(7, bob, []File{file})
			large, largeFile := content(70<<20, 98)
			if _, err := c.Get(t.Context(), bob, largeFile, of(large)); !errors.Is(err, ErrFull) {
				t.Errorf("a file larger than the disk: %v", err)
			}
			if !c.Has(bob, file) {
				t.Error("a file that a job holds was removed")
			}
		})
	}
}

// The quota of a user is no reason to remove files of others.
func TestAUsedUpQuotaConcernsItsUser(t *testing.T) {
	ann, bob := twoUsers(t)
	c := open(t, cacheDir(t), 1<<20)
	data, file := content(1000, 1)
	if _, err := c.Get(t.Context(), ann, file, of(data)); err != nil {
		t.Fatal(err)
	}
	if c.evict(bob.UID, unix.EDQUOT) || !c.Has(ann, file) {
		t.Error("another user's file was removed")
	}
	if c.evict(ann.UID, nil) || c.evict(ann.UID, unix.EIO) {
		t.Error("a file is removed though the disk is not full")
	}
	if !c.evict(ann.UID, unix.EDQUOT) || c.Has(ann, file) || c.evict(ann.UID, unix.EDQUOT) {
		t.Error("the user's own file is not removed once")
	}
}
