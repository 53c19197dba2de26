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
	// addressMost bounds what is read of it, in bytes.
	addressMost = 256
)

// FormerAddress is where an agent before this one listened, if this one, which is to listen at the
// address listen, may listen there: "" if there was none, or the file is not whole.
func FormerAddress(dir, listen string) string {
	file, err := os.Open(filepath.Join(dir, addressName))
	if err != nil {
		return ""
	}
	defer file.Close()
	text := make([]byte, addressMost)
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

// NoteAddress leaves the address for the next agent. Without it that listens elsewhere.
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

// ForgetAddress removes it: nothing goes on that another agent could look for.
func ForgetAddress(dir string) { _ = os.Remove(filepath.Join(dir, addressName)) }
