package direct

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
)

const (
	// firstPort and ports are the range in which stewards listen: above the ports that Linux
	// assigns by itself (ip_local_port_range).
	firstPort = 61000
	ports     = 1<<16 - firstPort
	portLabel = "score steward: port of a node, 1"
)

// PortOf returns the port at which a node's steward listens if it is free, so that others can send
// to it before it has told them its port. agent is the address of the node's agent. The port cannot
// be predicted without the job's key.
func PortOf(key []byte, node uint32, agent string) uint16 {
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(portLabel)) // a hash never fails
	mac.Write(binary.BigEndian.AppendUint32([]byte{0}, node))
	mac.Write([]byte(agent)) // clusters with the same key may share hosts
	return firstPort + uint16(binary.BigEndian.Uint64(mac.Sum(nil))%ports)
}
