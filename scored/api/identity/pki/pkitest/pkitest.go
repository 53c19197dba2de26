package pkitest

import (
	"score/scored/api/identity/pki"
	"testing"
	"time"
)

// Cluster is an authority that signs whatever a test wants.
type Cluster struct {
	*pki.Authority
	Name string
}

// New makes a cluster.
func New(t testing.TB, name string) Cluster {
	t.Helper()
	authority, err := pki.NewAuthority(name, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	return Cluster{authority, name}
}

// Daemon returns a member with a certificate that has just been signed.
func (c Cluster) Daemon(t testing.TB, role pki.Role, name string) *pki.Credentials {
	t.Helper()
	return c.Signed(t, role, name, time.Now(), pki.DefaultLife)
}

// Signed returns a member whose certificate was signed at another time, for another life.
func (c Cluster) Signed(t testing.TB, role pki.Role, name string, at time.Time, life time.Duration) *pki.Credentials {
	t.Helper()
	request, err := pki.NewRequest()
	if err != nil {
		t.Fatal(err)
	}
	signed, err := c.Sign(request.Bytes(), pki.Name{Cluster: c.Name, Role: role, Name: name}, at, life)
	if err != nil {
		t.Fatal(err)
	}
	credentials, err := pki.NewCredentials(c.Certificate(), signed.Raw, request, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	return credentials
}
