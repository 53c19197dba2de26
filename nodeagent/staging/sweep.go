package staging

import (
	"cmp"
	"encoding/hex"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// left is a file that a former agent has left.
type left struct {
	*entry
	modified int64
}

// sweep takes over the files that a former agent has left, oldest first, and removes incomplete
// ones. Nobody else uses the cache yet. It ignores other files of the users.
func (c *Cache) sweep() {
	users, err := os.ReadDir(c.dir)
	if err != nil {
		return
	}
	var all []left
	for _, user := range users {
		if uid, err := strconv.ParseUint(user.Name(), 10, 32); err == nil && user.IsDir() {
			all = append(all, c.sweepUser(uint32(uid))...)
		}
	}
	slices.SortFunc(all, func(a, b left) int { return cmp.Compare(a.modified, b.modified) })
	for _, f := range all {
		c.clock++
		f.used = c.clock
		c.entries[f.key] = f.entry
		c.total += f.bytes
	}
	_ = c.makeRoom(0, 0) // the limit may be smaller than it was
}

// maxSwept bounds the names that are read from a user's directory, where the user can make any
// number: the files, and as many incomplete ones.
const maxSwept = 2 * maxFilesOfUser

// sweepUser takes over the files of one user.
func (c *Cache) sweepUser(uid uint32) (found []left) {
	dir, err := os.Open(c.userDir(uid))
	if err != nil {
		return nil
	}
	defer dir.Close()
	files, _ := dir.ReadDir(maxSwept) // what was read before an error counts
	for _, file := range files {
		k := key{uid: uid}
		name, _, half := strings.Cut(file.Name(), partInfix)
		if n, err := hex.Decode(k.sum[:], []byte(clipped(name))); err != nil || n != SumBytes || len(name) != 2*SumBytes {
			continue
		}
		info, err := file.Info()
		if err != nil || !info.Mode().IsRegular() {
			continue
		}
		if half {
			_ = removeAs(k.uid, filepath.Join(c.userDir(uid), file.Name())) // the next one tries again
			continue
		}
		if len(found) < maxFilesOfUser {
			found = append(found, entryOf(k, info))
		}
	}
	return found
}

// entryOf makes an entry of a whole file. Its length is what its user has made it, and counts only
// as far as the file takes room on the disk.
func entryOf(k key, info fs.FileInfo) left {
	e := newEntry(k, info.Size())
	e.have, e.bytes = e.size, e.size
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		e.bytes = min(e.size, st.Blocks*blockBytes)
	}
	close(e.over)
	return left{e, info.ModTime().UnixNano()}
}

// blockBytes is the unit of st_blocks (stat(3type)).
const blockBytes = 512

// clipped returns the name, cut to the length of a digest.
func clipped(name string) string { return name[:min(len(name), 2*SumBytes)] }
