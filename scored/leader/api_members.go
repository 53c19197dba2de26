package leader

import (
	"context"
	"score/scored/api/identity/pki"
	"score/scored/api/scorev1"
	"score/scored/state"
	"time"
)

// AddToken adds a token with which one daemon may join; by is the user who made it.
func (l *Leader) AddToken(ctx context.Context, t *pki.Token, by string) error {
	return l.decideOnly(ctx, func(c *controller) error { return c.addToken(t, by) })
}

// RemoveToken removes a token.
func (l *Leader) RemoveToken(ctx context.Context, id string) error {
	return l.decideOnly(ctx, func(c *controller) error { return c.removeToken(id) })
}

// Tokens returns the valid tokens by the time of expiry.
func (l *Leader) Tokens(ctx context.Context) ([]*scorev1.JoinToken, error) {
	return observe(ctx, l, func(c *controller) []*scorev1.JoinToken { return c.members.tokenList(c.now) })
}

// Admit exchanges a token for the certificate of a new daemon.
func (l *Leader) Admit(ctx context.Context, id string, secret []byte, cert *state.Certificate) error {
	return l.decideOnly(ctx, func(c *controller) error { return c.admit(id, secret, cert) })
}

// Renewed records the renewed certificate of a daemon.
func (l *Leader) Renewed(ctx context.Context, cert *state.Certificate) error {
	return l.decideOnly(ctx, func(c *controller) error { return c.renewed(cert) })
}

// RevokeCertificates revokes all certificates of a daemon, and returns their number.
func (l *Leader) RevokeCertificates(ctx context.Context, role, name string) (int, error) {
	return decide(ctx, l, func(c *controller) (int, error) { return c.revokeCertificates(role, name) })
}

// Certificates returns those that have not expired, by role, name and expiry.
func (l *Leader) Certificates(ctx context.Context) ([]*scorev1.DaemonCertificate, error) {
	return observe(ctx, l, func(c *controller) []*scorev1.DaemonCertificate { return c.members.certificateList(c.now) })
}

// ClusterTime returns the cluster's time, rounded to seconds as in certificates.
func (l *Leader) ClusterTime() time.Time {
	nanos, _ := l.Now()
	return time.Unix(0, nanos)
}
