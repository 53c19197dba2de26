package link

import (
	"fmt"
	"os"
)

// Transport is what carries datagrams between nodes.
type Transport uint8

// The transports.
const (
	UDP  Transport = iota // IP addresses, package udp
	TIPC                  // names of the cluster, package tipc
)

// EnvTransport is the environment variable that chooses the transport where no daemon's
// configuration does: "udp" or "tipc".
const EnvTransport = "SCORE_LINK"

// String is the word that configurations have for it.
func (t Transport) String() string {
	if t == TIPC {
		return "tipc"
	}
	return "udp"
}

// ParseTransport reads the word.
func ParseTransport(word string) (Transport, error) {
	switch word {
	case "udp":
		return UDP, nil
	case "tipc":
		return TIPC, nil
	}
	return UDP, fmt.Errorf(`link: %q is no link between nodes; there are "udp" and "tipc"`, word)
}

// TransportFromEnvironment reads EnvTransport; without it, it is UDP.
func TransportFromEnvironment() (Transport, error) {
	word := os.Getenv(EnvTransport)
	if word == "" {
		return UDP, nil
	}
	t, err := ParseTransport(word)
	if err != nil {
		return UDP, fmt.Errorf("%s: %w", EnvTransport, err)
	}
	return t, nil
}
