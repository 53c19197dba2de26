package agentdir

import (
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
)

const (
	// addressName is a file in the run directory with the agent's address. The other nodes of a job
	// that is placed but not here yet look for it at this address.
	addressName = "address"
	// addressHead begins the file, with the version of its format.
	addressHead = "score-agent-address 1 "
	// maxAddress bounds the bytes that are read from it.
	maxAddress = 256
)

// FormerAddress returns the address of the last agent, if an agent that is configured to listen at
// listen may use it. It is "" if there was no agent or the file is incomplete.
func FormerAddress(dir, listen string) string {
	file, err := os.Open(filepath.Join(dir, addressName))
	if err != nil {
		return ""
	}
	defer file.Close()
	text := make([]byte, maxAddress)
	n, _ := file.Read(text) // what is not there is not whole
	return parseAddress(string(text[:n]), listen)
}

// parseAddress takes the address from the file's text, for an agent that is to listen at the same
// host with any port.
func parseAddress(text, listen string) string {
	rest, ok := strings.CutPrefix(text, addressHead)
	if !ok || !strings.HasSuffix(rest, "\n") {
		return ""
	}
	address, err := netip.ParseAddrPort(strings.TrimSuffix(rest, "\n"))
	host, port, split := net.SplitHostPort(listen)
	if err != nil || split != nil || port != "0" || address.Port() == 0 || address.Addr().String() != host {
		return ""
	}
	return address.String()
}

// NoteAddress stores the address for the next agent, which otherwise listens elsewhere.
func NoteAddress(dir, address string) error {
	path := filepath.Join(dir, addressName)
	err := os.WriteFile(path+".new", []byte(addressHead+address+"\n"), 0o600)
	if err == nil {
		err = os.Rename(path+".new", path)
	}
	if err != nil {
		return fmt.Errorf("noting the agent's address: %w", err)
	}
	return nil
}

// ForgetAddress removes it when no job goes on for which another node could look here.
func ForgetAddress(dir string) { _ = os.Remove(filepath.Join(dir, addressName)) }
