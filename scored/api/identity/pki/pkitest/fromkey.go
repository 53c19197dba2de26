package pkitest

import (
	"testing"

	"score/scored/api/identity/pki"
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
