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

// PortOf returns the port at which the steward of a node, whose agent has that address, listens if
// the port is free, so that the others can send to it before they know its port. Without the job's
// key it cannot be predicted.
func PortOf(key []byte, node uint32, agent string) uint16 {
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(portLabel)) // a hash never fails
	mac.Write(binary.BigEndian.AppendUint32([]byte{0}, node))
	mac.Write([]byte(agent)) // clusters with the same key may share hosts
	return firstPort + uint16(binary.BigEndian.Uint64(mac.Sum(nil))%ports)
}
