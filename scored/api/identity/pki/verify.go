package pki

import (
	"crypto/x509"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Fault is a reason why a certificate is not accepted.
type Fault uint8

// The faults.
const (
	FaultNone    Fault = iota
	FaultMissing       // none was shown
	FaultForeign       // another authority's, or nobody's
	FaultExpired
	FaultEarly   // not valid yet
	FaultRevoked // taken back by an administrator
	FaultName    // valid, and not a daemon's of this cluster
	FaultRole    // of a daemon that is not allowed here
)

// VerifyError means that a certificate was not accepted. Its text is one sentence, which says by
// how much and what to do.
type VerifyError struct {
	Fault    Fault
	Name     Name // as far as it could be read; not to be trusted
	sentence string
}

func (e *VerifyError) Error() string { return e.sentence }

func refuse(fault Fault, name Name, format string, args ...any) *VerifyError {
	return &VerifyError{Fault: fault, Name: name, sentence: fmt.Sprintf(format, args...)}
}

// trust says which certificates are accepted: those of a cluster's daemons in some roles.
type trust struct {
	authority *x509.Certificate
	cluster   string
	roles     []Role
	revoked   *revoked
	now       func() time.Time
}

// verify checks a chain as it came by TLS, the leaf first. Chains have a length of one: the
// authority signs daemons itself.
func (t trust) verify(chain []*x509.Certificate) error {
	if len(chain) == 0 {
		return refuse(FaultMissing, Name{}, "the other side showed no certificate; it must be a daemon that has joined the cluster")
	}
	leaf := chain[0]
	name, nameErr := nameOf(leaf)
	whose := subject(name, nameErr)
	if leaf.CheckSignatureFrom(t.authority) != nil {
		return refuse(
			FaultForeign,
			name,
			"the certificate of %s was not signed by this cluster's authority (%s); join it to this cluster with a token",
			whose,
			short(DigestOf(t.authority)),
		)
	}
	if nameErr != nil || name.Cluster != t.cluster || !slices.Contains(leaf.ExtKeyUsage, x509.ExtKeyUsageClientAuth) {
		return refuse(FaultName, name, "the certificate of %s is not one of a daemon of cluster %s", whose, t.cluster)
	}
	if err := checkTime(leaf, name, t.now()); err != nil {
		return err
	}
	if t.revoked.has(leaf.SerialNumber.String()) {
		return refuse(FaultRevoked, name, "the certificate of %s was revoked; join it again with a new token", whose)
	}
	return name.Is(t.roles...)
}

// checkTime refuses a certificate that is not valid now.
func checkTime(leaf *x509.Certificate, name Name, now time.Time) error {
	if late := now.Sub(leaf.NotAfter); late > 0 {
		return refuse(
			FaultExpired,
			name,
			"the certificate of %s expired %s ago, by this host's clock (%s); join it again with a new token, or set the clock",
			name,
			about(late),
			stamp(now),
		)
	}
	if early := leaf.NotBefore.Sub(now); early > 0 {
		return refuse(
			FaultEarly,
			name,
			"the certificate of %s is valid only in %s, by this host's clock (%s); set the clock",
			name,
			about(early),
			stamp(now),
		)
	}
	return nil
}

// Is returns an error unless the daemon has one of the roles.
func (n Name) Is(roles ...Role) error {
	if slices.Contains(roles, n.Role) {
		return nil
	}
	return refuse(FaultRole, n, "%s may not do this: it is for %s", subject(n, nil), list(roles))
}

func subject(name Name, err error) string {
	if err != nil {
		return "the other side"
	}
	return name.String()
}

func list(roles []Role) string {
	names := make([]string, len(roles))
	for i, r := range roles {
		names[i] = string(r) + "s"
	}
	return strings.Join(names, " and ")
}

// short returns the part of a digest that people compare.
func short(d Digest) string { return fmt.Sprintf("%x", d[:8]) }

func stamp(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05 UTC") }

// about rounds a duration for people.
func about(d time.Duration) string {
	const day = 24 * time.Hour
	switch {
	case d >= 2*day:
		return fmt.Sprintf("%d days", d/day)
	case d >= 2*time.Hour:
		return fmt.Sprintf("%d hours", d/time.Hour)
	case d >= 2*time.Minute:
		return fmt.Sprintf("%d minutes", d/time.Minute)
	default:
		return fmt.Sprintf("%d seconds", max(1, d/time.Second))
	}
}

// FaultOf returns the fault in an error of a connection, FaultNone if there is none.
func FaultOf(err error) Fault {
	if v, ok := errors.AsType[*VerifyError](err); ok {
		return v.Fault
	}
	return FaultNone
}
