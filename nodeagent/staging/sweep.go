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

// left is a file of a former agent.
type left struct {
	*entry
	modified int64
}

// sweep adds the complete files of a former agent, oldest first, and removes incomplete ones. It
// runs before any other use of the cache. It ignores other files of the users.
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
	_ = c.makeRoom(0, 0) // the limit may be lower than before
}

// maxSwept bounds the names that are read from a user's directory, in which the user can make any
// number: complete files, and as many incomplete ones.
const maxSwept = 2 * maxFilesOfUser

// sweepUser returns the complete files of one user.
func (c *Cache) sweepUser(uid uint32) (found []left) {
	dir, err := os.Open(c.userDir(uid))
	if err != nil {
		return nil
	}
	defer dir.Close()
	files, _ := dir.ReadDir(maxSwept) // after an error, the names read so far count
	for _, file := range files {
		k := key{uid: uid}
		name, _, half := strings.Cut(file.Name(), partInfix)
		if len(name) != hex.EncodedLen(SumBytes) {
			continue
		}
		if _, err := hex.Decode(k.sum[:], []byte(name)); err != nil {
			continue
		}
		info, err := file.Info()
		if err != nil || !info.Mode().IsRegular() {
			continue
		}
		if half {
			_ = removeAs(k.uid, filepath.Join(c.userDir(uid), file.Name())) // if it fails, the next agent tries again
			continue
		}
		if len(found) < maxFilesOfUser {
			found = append(found, entryOf(k, info))
		}
	}
	return found
}

// entryOf makes an entry for a complete file. The user may have set any length, so it counts only
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
