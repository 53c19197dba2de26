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
	_, err := consult(ctx, l, func(c *controller, answer func(struct{}, error)) { c.addToken(t, by, answer) })
	return err
}

// RemoveToken removes a token.
func (l *Leader) RemoveToken(ctx context.Context, id string) error {
	_, err := consult(ctx, l, func(c *controller, answer func(struct{}, error)) { c.removeToken(id, answer) })
	return err
}

// Tokens returns the valid tokens by the time of expiry.
func (l *Leader) Tokens(ctx context.Context) ([]*scorev1.JoinToken, error) {
	return consult(ctx, l, func(c *controller, answer func([]*scorev1.JoinToken, error)) {
		list := c.members.tokenList(c.now)
		c.call(func(err error) { answer(list, err) })
	})
}

// Admit exchanges a token for the certificate of a new daemon.
func (l *Leader) Admit(ctx context.Context, id string, secret []byte, cert *state.Certificate) error {
	_, err := consult(ctx, l, func(c *controller, answer func(struct{}, error)) { c.admit(id, secret, cert, answer) })
	return err
}

// Renewed records the renewed certificate of a daemon.
func (l *Leader) Renewed(ctx context.Context, cert *state.Certificate) error {
	_, err := consult(ctx, l, func(c *controller, answer func(struct{}, error)) { c.renewed(cert, answer) })
	return err
}

// RevokeCertificates revokes all certificates of a daemon, and returns their number.
func (l *Leader) RevokeCertificates(ctx context.Context, role, name string) (int, error) {
	return consult(ctx, l, func(c *controller, answer func(int, error)) { c.revokeCertificates(role, name, answer) })
}

// Certificates returns those that have not expired, by role, name and expiry.
func (l *Leader) Certificates(ctx context.Context) ([]*scorev1.DaemonCertificate, error) {
	return consult(ctx, l, func(c *controller, answer func([]*scorev1.DaemonCertificate, error)) {
		list := c.members.certificateList(c.now)
		c.call(func(err error) { answer(list, err) })
	})
}

// ClusterTime returns the cluster's time, rounded to seconds as in certificates.
func (l *Leader) ClusterTime() time.Time {
	nanos, _ := l.Now()
	return time.Unix(0, nanos)
}
