package client

import (
	"bufio"
	"os"
	"score/nodeagent/sockowner"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// KillUnresponsive kills the steward that listens at a slot's socket but does not answer, because
// it is stopped or too slow. It finds the process by its open socket, since the steward cannot
// report its pid. If the steward has ended, it does nothing.
func KillUnresponsive(slot Slot) {
	inodes := listeners(Socket(slot.RunDir, slot.Number))
	if len(inodes) == 0 {
		return
	}
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return
	}
	for _, e := range entries {
		if pid, err := strconv.Atoi(e.Name()); err == nil && pid != os.Getpid() {
			killHolder(pid, slot, inodes)
		}
	}
}

// killHolder kills a process if it is the slot's steward and holds one of the sockets. The pid
// cannot be reused between the check and the signal, because the signal goes to the process of the
// pidfd.
func killHolder(pid int, slot Slot, inodes []uint64) {
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return
	}
	defer unix.Close(fd)
	if isSteward(pid, slot) && slices.ContainsFunc(inodes, func(inode uint64) bool { return sockowner.Holds(pid, inode) }) {
		_ = unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0) // it may have ended by itself
	}
}

// isSteward reports whether a process is a slot's steward, of this process's user. The sockets
// alone do not show it: the name of a user's own socket can hold a line break, and so another line
// of /proc/net/unix, with the socket of any process.
func isSteward(pid int, slot Slot) bool {
	dir := "/proc/" + strconv.Itoa(pid)
	var st unix.Stat_t
	if unix.Stat(dir, &st) != nil || int(st.Uid) != os.Geteuid() {
		return false // reading another user's arguments may hang
	}
	line, err := os.ReadFile(dir + "/cmdline")
	_, rest, _ := strings.Cut(string(line), "\x00") // whatever the program is called
	return err == nil && strings.HasPrefix(rest, strings.Join(slot.arguments(), "\x00")+"\x00")
}

// listeners returns the inodes of the sockets that listen at the path, as /proc/PID/fd shows them.
func listeners(socket string) (inodes []uint64) {
	table, err := os.Open("/proc/net/unix")
	if err != nil {
		return nil
	}
	defer table.Close()
	// "Num RefCount Protocol Flags Type St Inode Path" of unix(7); the flag is the kernel's
	// __SO_ACCEPTCON.
	const flags, inode, listening = 3, 6, "00010000"
	for lines := bufio.NewScanner(table); lines.Scan(); {
		fields := strings.Fields(lines.Text())
		if !strings.HasSuffix(lines.Text(), " "+socket) || len(fields) <= inode || fields[flags] != listening {
			continue
		}
		if n, err := strconv.ParseUint(fields[inode], 10, 64); err == nil {
			inodes = append(inodes, n)
		}
	}
	return inodes
}
