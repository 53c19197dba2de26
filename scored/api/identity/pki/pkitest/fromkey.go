package pkitest

import (
	"score/scored/api/identity/pki"
	"testing"
)

// FromKey returns a daemon of a cluster without certificates.
func FromKey(t testing.TB, key, cluster string, role pki.Role, name string) *pki.Credentials {
	t.Helper()
	credentials, err := pki.FromKey(key, pki.Name{Cluster: cluster, Role: role, Name: name})
	if err != nil {
		t.Fatal(err)
	}
	return credentials
}
