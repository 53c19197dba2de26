// Command inside is the first program of a guest: it mounts file systems, loads modules, and runs
// what the test asks for. If the guest has an init of its own, an agent stays beside it.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"score/tests/guest/wire"

	"golang.org/x/sys/unix"
)

// agentPath is where the program stays for the agent beside an init, and agentName what it is
// called there: systemd leaves processes alone whose name begins so when it stops all others.
const (
	agentPath = "/run/guest-agent"
	agentName = "@guest-agent"
)

func main() {
	if len(os.Args) == 2 && os.Args[0] == agentName {
		serve(os.Args[1])
		return
	}
	s, err := settings()
	if err == nil {
		err = boot(s)
	}
	// Nothing is left to run: the console tells why, and the test.
	fmt.Fprintln(os.Stderr, "guest:", err)
	if console, openErr := openConsole(s.Console); openErr == nil {
		_ = wire.NewConn(console).Send(wire.Frame{Kind: wire.Failed, Payload: []byte(err.Error())})
	}
	powerOff()
}

func settings() (s wire.Settings, err error) {
	data, err := os.ReadFile(wire.SettingsPath)
	if err != nil {
		return s, err
	}
	return s, json.Unmarshal(data, &s)
}

func powerOff() {
	unix.Sync()
	_ = unix.Reboot(unix.LINUX_REBOOT_CMD_POWER_OFF)
}
