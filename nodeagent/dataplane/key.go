package dataplane

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
)

// keyLabel keeps the keys of jobs apart from all else that is derived from the cluster's key.
const keyLabel = "score data plane: key of a job, 1"

// jobKey names a job in frames. All agents of the cluster compute the same one, and nobody
// else can: to guess it takes 2^64 datagrams. It is never zero.
func jobKey(clusterKey, cluster string, job uint64) uint64 {
	mac := hmac.New(sha256.New, []byte(clusterKey))
	mac.Write([]byte(keyLabel)) // a hash never fails
	mac.Write([]byte{0})
	mac.Write([]byte(cluster))
	mac.Write([]byte{0})
	mac.Write(binary.BigEndian.AppendUint64(nil, job))
	return max(binary.BigEndian.Uint64(mac.Sum(nil)), 1)
}
