package sockowner

import (
	"bufio"
	"os"
	"strconv"
	"strings"
)

// ListenersAt returns the users of the sockets of this host that listen at a port by TCP, or have
// it by UDP.
func ListenersAt(port uint16) (uids []uint32) {
	const listening = "0A" // TCP_LISTEN of linux/tcp_states.h, in hexadecimal
	for table, state := range map[string]string{
		"/proc/net/tcp": listening, "/proc/net/tcp6": listening, "/proc/net/udp": "", "/proc/net/udp6": "",
	} {
		uids = append(uids, usersIn(table, port, state)...)
	}
	return uids
}

// usersIn reads one of the kernel's tables (proc_pid_net(5)); state "": any.
func usersIn(table string, port uint16, state string) (uids []uint32) {
	file, err := os.Open(table)
	if err != nil {
		return nil
	}
	defer file.Close()
	const local, st, uid, fields = 1, 3, 7, 8
	for lines := bufio.NewScanner(file); lines.Scan(); {
		f := strings.Fields(lines.Text())
		if len(f) < fields || state != "" && f[st] != state {
			continue
		}
		_, digits, _ := strings.Cut(f[local], ":")
		if n, err := strconv.ParseUint(digits, 16, 16); err != nil || uint16(n) != port {
			continue
		}
		if n, err := strconv.ParseUint(f[uid], 10, 32); err == nil {
			uids = append(uids, uint32(n))
		}
	}
	return uids
}
