package leader

import (
	"bytes"
	"score/scored/api/scorev1"
	"testing"
)

// All servers derive the same key of a job. Keys differ between jobs and secrets, and there is none
// without a secret.
func TestJobKey(t *testing.T) {
	secret := []byte("of the servers")
	key := jobKey(secret, 1, 5)
	if !bytes.Equal(key, jobKey(secret, 1, 5)) || len(key) != 32 {
		t.Errorf("another server derives another key: %x", key)
	}
	if bytes.Equal(key, jobKey(secret, 2, 5)) || bytes.Equal(key, jobKey([]byte("of others"), 1, 5)) {
		t.Error("two jobs have one key")
	}
	if key := jobKey(nil, 1, 5); key != nil {
		t.Errorf("of no secret: %x", key)
	}
}

// After a restore from a backup, a job with the number of an earlier job has another key.
func TestJobKeyOfANumberGivenAgain(t *testing.T) {
	b := &controller{config: config{jobSecret: []byte("of the servers")}, nodes: map[string]*node{}}
	keyOf := func(submitted int64) []byte {
		j := &job{id: 7, submitted: submitted, spec: &scorev1.JobSpec{}}
		return b.prepareOrders(j)(0).GetKey()
	}
	before, after := keyOf(1), keyOf(2)
	if len(before) == 0 || bytes.Equal(before, after) {
		t.Errorf("the keys are %x and %x", before, after)
	}
	if !bytes.Equal(after, keyOf(2)) {
		t.Error("another leader derives another key")
	}
}
