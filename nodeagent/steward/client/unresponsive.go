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

// KillUnresponsive kills a steward that listens at the socket but does not answer, because it is
// stopped or too slow. It finds the process by its open socket, since the steward cannot report its
// pid. If the steward has ended, it does nothing.
func KillUnresponsive(socket string) {
	inodes := listeners(socket)
	if len(inodes) == 0 {
		return
	}
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return
	}
	for _, e := range entries {
		if pid, err := strconv.Atoi(e.Name()); err == nil && pid != os.Getpid() {
			killHolder(pid, inodes)
		}
	}
}

// killHolder kills a process if it holds one of the sockets. The pid cannot be reused between the
// check and the signal, because the signal goes to the process of the pidfd.
func killHolder(pid int, inodes []uint64) {
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return
	}
	defer unix.Close(fd)
	if slices.ContainsFunc(inodes, func(inode uint64) bool { return sockowner.Holds(pid, inode) }) {
		_ = unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0) // it may have ended by itself
	}
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
