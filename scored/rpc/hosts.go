package rpc

import (
	"net"
	"net/netip"
	"os"
	"runtime"
	"score/scored/leader"
)

// ownHost is the alias of this server's host.
const ownHost = "this host"

// hostNames knows the names and addresses of this host.
type hostNames struct{ own map[string]bool }

func newHostNames() *hostNames {
	names := &hostNames{own: map[string]bool{"": true, "localhost": true}}
	if name, err := os.Hostname(); err == nil {
		names.own[name] = true
	}
	addresses, _ := net.InterfaceAddrs() // those that are unknown count as other hosts
	for _, address := range addresses {
		if prefix, err := netip.ParsePrefix(address.String()); err == nil {
			names.own[prefix.Addr().String()] = true
		}
	}
	return names
}

// alias returns one name for each host.
func (h *hostNames) alias(host string) string {
	if h.own[host] {
		return ownHost
	}
	if address, err := netip.ParseAddr(host); err == nil && (address.IsLoopback() || h.own[address.Unmap().String()]) {
		return ownHost
	}
	return host
}

// path lists the hosts through which output flows from a node's agent to a client, each once.
func (h *hostNames) path(node, client string) []leader.Host {
	hosts := []leader.Host{{Name: ownHost, CPUs: runtime.NumCPU()}}
	for _, address := range []string{node, client} {
		host, _, err := net.SplitHostPort(address)
		if err != nil {
			continue // a Unix socket
		}
		if name := h.alias(host); name != ownHost && name != hosts[len(hosts)-1].Name {
			hosts = append(hosts, leader.Host{Name: name})
		}
	}
	return hosts
}
