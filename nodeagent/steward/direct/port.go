package direct

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
)

const (
	// firstPort and ports are where stewards listen: above what Linux gives out by itself
	// (ip_local_port_range), and below the end.
	firstPort = 61000
	ports     = 1<<16 - firstPort
	portLabel = "score steward: port of a node, 1"
)

// PortOf is the port at which the steward of a node, whose agent has that address, listens if
// nothing else does, so that the others can speak to it before they have heard of it. Who has not
// the job's key cannot tell which it is.
func PortOf(key []byte, node uint32, agent string) uint16 {
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(portLabel)) // a hash never fails
	mac.Write(binary.BigEndian.AppendUint32([]byte{0}, node))
	mac.Write([]byte(agent)) // hosts may be shared by clusters that have the key in common
	return firstPort + uint16(binary.BigEndian.Uint64(mac.Sum(nil))%ports)
}
