package system

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
)

// nothingHeld waits until no process of the script holds what belongs to a job's channels:
// contexts, place maps, and sockets other than the agents' directories.
func nothingHeld(ts *testscript.TestScript, neg bool, args []string) {
	ts.Check(awaitNone(func() []string { return heldByOurs(ts.Getenv("WORK")) }))
}

func heldByOurs(work string) (held []string) {
	udp := udpSockets()
	for _, p := range ours(work) {
		dir := filepath.Join("/proc", strconv.Itoa(p.PID), "fd")
		entries, err := os.ReadDir(dir)
		if err != nil {
			continue // it has just ended
		}
		directories := 0
		for _, e := range entries {
			link, err := os.Readlink(filepath.Join(dir, e.Name()))
			if err != nil {
				continue
			}
			if udp[link] {
				directories++
			}
			if strings.HasPrefix(link, "/memfd:score") || directories > 1 {
				held = append(held, fmt.Sprintf("%s by process %d", link, p.PID))
			}
		}
	}
	return held
}

// udpSockets are the UDP sockets of this machine, as links of descriptors show them.
func udpSockets() map[string]bool {
	const inode = 9 // field of /proc/net/udp
	sockets := make(map[string]bool)
	for _, file := range []string{"/proc/net/udp", "/proc/net/udp6"} {
		text, err := os.ReadFile(file)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		for line := range strings.Lines(string(text)) {
			if fields := strings.Fields(line); len(fields) > inode {
				sockets["socket:["+fields[inode]+"]"] = true
			}
		}
	}
	return sockets
}
