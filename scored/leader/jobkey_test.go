package leader

import (
	"bytes"
	"testing"
)

// Jobs' keys are the same with each server, differ between jobs and secrets, and none comes of no secret.
func TestJobKey(t *testing.T) {
	secret := []byte("of the servers")
	key := jobKey(secret, 1)
	if !bytes.Equal(key, jobKey(secret, 1)) || len(key) != 32 {
		t.Errorf("another server derives another key: %x", key)
	}
	if bytes.Equal(key, jobKey(secret, 2)) || bytes.Equal(key, jobKey([]byte("of others"), 1)) {
		t.Error("two jobs have one key")
	}
	if key := jobKey(nil, 1); key != nil {
		t.Errorf("of no secret: %x", key)
	}
}
