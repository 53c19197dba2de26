package tipc

import (
	"encoding/binary"
	"fmt"
	"strings"
)

// Requests to the kernel's TIPC, and attributes of its answers (linux/tipc_netlink.h).
const (
	commandBearers = 4  // TIPC_NL_BEARER_GET
	commandNet     = 14 // TIPC_NL_NET_GET
	attrBearer     = 1  // TIPC_NLA_BEARER, which has others
	attrName       = 1  // TIPC_NLA_BEARER_NAME
	attrNet        = 7  // TIPC_NLA_NET, which has others
	attrNetID      = 1  // TIPC_NLA_NET_ID
)

// DefaultNetwork is the network id of a kernel unless it is configured otherwise.
const DefaultNetwork = 4711

// Bearers lists the networks that the kernel carries TIPC by, like "eth:eth0" or "udp:UDP1". There
// may be none: then TIPC reaches this host only.
func Bearers() (names []string, err error) {
	err = list(commandBearers, func(b []byte) error {
		name, err := bearerName(b)
		if err == nil {
			names = append(names, name)
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("tipc: cannot list the bearers: %w", err)
	}
	return names, nil
}

// Network returns the kernel's network id. Nodes with different ones do not reach each other,
// though their bearers are on one network.
func Network() (id uint32, err error) {
	err = list(commandNet, func(b []byte) (err error) {
		id, err = networkID(b)
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("tipc: cannot ask for the network id: %w", err)
	}
	return id, nil
}

// bearerName returns the name in a bearer's description.
func bearerName(b []byte) (string, error) {
	bearer, ok := find(b, attrBearer)
	if !ok {
		return "", errNetlink
	}
	name, ok := find(bearer, attrName)
	if !ok {
		return "", errNetlink
	}
	return strings.TrimRight(string(name), "\x00"), nil
}

// networkID returns the id in the description of the node's network.
func networkID(b []byte) (uint32, error) {
	net, ok := find(b, attrNet)
	if !ok {
		return 0, errNetlink
	}
	id, ok := find(net, attrNetID)
	if !ok || len(id) != 4 {
		return 0, errNetlink
	}
	return binary.NativeEndian.Uint32(id), nil
}
