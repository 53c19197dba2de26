package agentdir

import (
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"score/scored/api/atomicfile"
	"strings"
)

const (
	// addressName is a file in the run directory with the agent's address. The other nodes of a job
	// that is placed but not here yet look for it at this address.
	addressName = "address"
	// addressHead begins the file; it has the version of the format.
	addressHead = "score-agent-address 1 "
	// maxAddress bounds the bytes that are read from the file.
	maxAddress = 256
)

// FormerAddress returns the address of the last agent, if an agent with the configured address
// listen may use it. It returns "" if there was no agent or the file is incomplete.
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

// parseAddress returns the address in the file's text, if an agent with the configured address
// listen may use it: the host is the same, and the configured port is any.
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

// NoteAddress stores the address, so that the next agent listens at the same one.
func NoteAddress(dir, address string) error {
	path := filepath.Join(dir, addressName)
	if err := atomicfile.ReplaceBy(path+".new", path, []byte(addressHead+address+"\n"), 0o600); err != nil {
		return fmt.Errorf("noting the agent's address: %w", err)
	}
	return nil
}

// ForgetAddress removes the stored address. Call it when no job runs on, so that no other node
// looks for the agent there.
func ForgetAddress(dir string) { _ = os.Remove(filepath.Join(dir, addressName)) } // a new address replaces it
