package dataplane

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"score/scored/api/agentpb"
)

// keyLabel separates the keys of jobs from other keys that are derived from the cluster's key.
const keyLabel = "score data plane: key of a job, 1"

// secretOf returns the secret that the job's key is derived from: the order's, or the cluster's key
// for an order of a former version.
func secretOf(order *agentpb.Prepare, clusterKey string) (string, error) {
	if key := order.GetKey(); len(key) > 0 {
		return string(key), nil
	}
	if clusterKey == "" {
		return "", errNoKey
	}
	return clusterKey, nil
}

// errNoKey is returned for a job that would have the same key in every cluster.
var errNoKey = errors.New("the server has sent no key for the job; upgrade the servers")

// jobKey returns the key that identifies a job in frames. Only the nodes of the job can compute it;
// to guess it takes 2^64 datagrams. It is never zero.
func jobKey(secret, cluster string, job uint64) uint64 {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(keyLabel)) // a hash never fails
	mac.Write([]byte{0})
	mac.Write([]byte(cluster))
	mac.Write([]byte{0})
	mac.Write(binary.BigEndian.AppendUint64(nil, job))
	return max(binary.BigEndian.Uint64(mac.Sum(nil)), 1)
}
