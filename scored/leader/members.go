package leader

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"score/scored/api/identity/pki"
	"score/scored/api/scorev1"
	"score/scored/state"
	"score/scored/state/statepb"
	"slices"
	"time"
)

// members holds the join tokens, and the certificates of the cluster's daemons.
type members struct {
	tokens       map[string]*state.Token
	certificates map[string]*state.Certificate // by serial number
	// observe, if not nil, is called with the revoked serial numbers whenever they change.
	observe func(serials [][]byte)
}

func newMembers(s *state.State) members {
	m := members{tokens: make(map[string]*state.Token), certificates: make(map[string]*state.Certificate)}
	for _, t := range s.Tokens() {
		m.tokens[t.ID] = t
	}
	for _, c := range s.Certificates() {
		m.certificates[string(c.Serial)] = c
	}
	return m
}

// forget drops expired ones; the state does the same in the following entries.
func (m *members) forget(now int64) {
	maps.DeleteFunc(m.tokens, func(_ string, t *state.Token) bool { return t.Expires <= now })
	maps.DeleteFunc(m.certificates, func(_ string, c *state.Certificate) bool { return c.Forgotten(now) })
}

// revoked returns the serial numbers of revoked certificates.
func (m *members) revoked() (serials [][]byte) {
	for _, c := range m.certificates {
		if c.Revoked {
			serials = append(serials, c.Serial)
		}
	}
	slices.SortFunc(serials, slices.Compare)
	return serials
}

// isRevoked reports whether a certificate is revoked. A listener may have accepted its owner before
// its server learned of the revocation.
func (m *members) isRevoked(serial []byte) bool {
	c := m.certificates[string(serial)]
	return c != nil && c.Revoked
}

// cutOff reports whether an agent has certificates, and all of them are revoked.
func (m *members) cutOff(agent string) bool {
	revoked := false
	for _, c := range m.certificates {
		if c.Role != string(pki.Agent) || c.Name != agent {
			continue
		}
		if !c.Revoked {
			return false
		}
		revoked = true
	}
	return revoked
}

// nodeRevoked is the refusal for an agent whose certificate was revoked.
const nodeRevoked = "the certificate of this node was revoked; join it again with a new token"

// addToken adds a token with which one daemon may join.
func (c *controller) addToken(t *pki.Token, by string, answer func(struct{}, error)) {
	c.members.forget(c.now)
	record := &state.Token{ID: t.ID, Role: string(t.Role), Verifier: t.Verifier(), Expires: t.Expires.UnixNano(), MadeBy: by}
	switch {
	case record.Expires <= c.now:
		answer(struct{}{}, fmt.Errorf("%w: the token has expired already, by the cluster's clock", ErrInvalid))
		return
	case len(c.members.tokens) >= state.MaxTokens:
		answer(struct{}{}, fmt.Errorf("%w: there are %d tokens; remove some with 'scored token remove'", ErrState, state.MaxTokens))
		return
	}
	c.members.tokens[record.ID] = record
	c.propose(&statepb.Command{Command: &statepb.Command_AddToken{AddToken: &statepb.AddToken{Token: &statepb.Token{
		Id: record.ID, Role: record.Role, Verifier: record.Verifier, ExpiresNanos: record.Expires, MadeBy: by,
	}}}})
	c.call(func(err error) { answer(struct{}{}, err) })
}

func (c *controller) removeToken(id string, answer func(struct{}, error)) {
	c.members.forget(c.now)
	if c.members.tokens[id] == nil {
		answer(struct{}{}, fmt.Errorf("%w: no token %s can be used; 'scored token list' shows those that can", ErrInvalid, clip(id)))
		return
	}
	delete(c.members.tokens, id)
	c.propose(&statepb.Command{Command: &statepb.Command_RemoveToken{RemoveToken: &statepb.RemoveToken{Id: id}}})
	c.call(func(err error) { answer(struct{}{}, err) })
}

// admit exchanges a token for a certificate. It does not disclose whether the token or its secret
// is wrong.
func (c *controller) admit(id string, secret []byte, cert *state.Certificate, answer func(struct{}, error)) {
	c.members.forget(c.now)
	t := c.members.tokens[id]
	if t == nil || !pki.CheckSecret(secret, t.Verifier) {
		answer(
			struct{}{},
			fmt.Errorf("%w: the token is not known: it was used, has expired or was removed; make a new one with 'scored token create'", ErrDenied),
		)
		return
	}
	if t.Role != cert.Role {
		answer(struct{}{}, fmt.Errorf("%w: the token is for a daemon of another role, %s", ErrDenied, t.Role))
		return
	}
	delete(c.members.tokens, id)
	taken := c.revoke(cert.Role, cert.Name)
	c.members.certificates[string(cert.Serial)] = cert
	c.propose(&statepb.Command{Command: &statepb.Command_Admit{Admit: &statepb.Admit{TokenId: id, Certificate: certificateProto(cert)}}})
	if taken > 0 {
		c.sendRevoked()
	}
	c.call(func(err error) { answer(struct{}{}, err) })
}

func (c *controller) renewed(cert *state.Certificate, answer func(struct{}, error)) {
	c.members.forget(c.now)
	c.members.certificates[string(cert.Serial)] = cert
	c.propose(&statepb.Command{Command: &statepb.Command_RenewCertificate{RenewCertificate: &statepb.RenewCertificate{Certificate: certificateProto(cert)}}})
	c.call(func(err error) { answer(struct{}{}, err) })
}

// revokeCertificates revokes all certificates of a daemon, and disconnects an agent.
func (c *controller) revokeCertificates(role, name string, answer func(int, error)) {
	c.members.forget(c.now)
	count := c.revoke(role, name)
	if count == 0 {
		answer(0, fmt.Errorf("%w: %s %s has no certificate that could be revoked; 'scored cert list' shows them", ErrInvalid, clip(role), clip(name)))
		return
	}
	c.propose(&statepb.Command{Command: &statepb.Command_RevokeCertificates{RevokeCertificates: &statepb.RevokeCertificates{Role: role, Name: name}}})
	c.sendRevoked()
	if n := c.nodes[name]; n != nil && role == string(pki.Agent) {
		c.closeLink(n.link, nodeRevoked)
	}
	c.call(func(err error) { answer(count, err) })
}

func (c *controller) revoke(role, name string) (count int) {
	for serial, cert := range c.members.certificates {
		if cert.Role != role || cert.Name != name || cert.Revoked {
			continue
		}
		next := *cert
		next.Revoked = true
		c.members.certificates[serial] = &next
		count++
	}
	return count
}

// sendRevoked sends the revoked certificates to this server's listeners and to all agents.
func (c *controller) sendRevoked() {
	serials := c.members.revoked()
	if observe := c.members.observe; observe != nil {
		c.call(func(err error) {
			if err == nil {
				observe(serials)
			}
		})
	}
	for _, name := range slices.Sorted(maps.Keys(c.nodes)) {
		c.send(c.nodes[name].link, revokedMessage(serials))
	}
}

func revokedMessage(serials [][]byte) *scorev1.ServerMessage {
	return &scorev1.ServerMessage{Message: &scorev1.ServerMessage_Revoked{Revoked: &scorev1.Revoked{Serials: serials}}}
}

func certificateProto(c *state.Certificate) *statepb.Certificate {
	return &statepb.Certificate{Serial: c.Serial, Role: c.Role, Name: c.Name, ExpiresNanos: c.Expires}
}

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
		c.members.forget(c.now)
		var list []*scorev1.JoinToken
		for _, t := range c.members.tokens {
			list = append(list, &scorev1.JoinToken{Id: t.ID, Role: t.Role, ExpiresNanos: t.Expires, MadeBy: t.MadeBy})
		}
		slices.SortFunc(list, func(x, y *scorev1.JoinToken) int {
			return cmp.Or(cmp.Compare(x.GetExpiresNanos(), y.GetExpiresNanos()), cmp.Compare(x.GetId(), y.GetId()))
		})
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
		c.members.forget(c.now)
		var list []*scorev1.DaemonCertificate
		for _, cert := range c.members.certificates {
			list = append(
				list,
				&scorev1.DaemonCertificate{Serial: cert.Serial, Role: cert.Role, Name: cert.Name, ExpiresNanos: cert.Expires, Revoked: cert.Revoked},
			)
		}
		slices.SortFunc(list, func(x, y *scorev1.DaemonCertificate) int {
			return cmp.Or(cmp.Compare(x.GetRole(), y.GetRole()), cmp.Compare(x.GetName(), y.GetName()), cmp.Compare(x.GetExpiresNanos(), y.GetExpiresNanos()))
		})
		c.call(func(err error) { answer(list, err) })
	})
}

// ClusterTime returns the cluster's time, rounded to seconds as in certificates.
func (l *Leader) ClusterTime() time.Time {
	nanos, _ := l.Now()
	return time.Unix(0, nanos)
}
