package leader

import (
	"cmp"
	"fmt"
	"maps"
	"score/scored/api/agentpb"
	"score/scored/api/identity/pki"
	"score/scored/api/scorev1"
	"score/scored/state"
	"score/scored/state/statepb"
	"slices"
)

// members holds the join tokens, and the certificates of the cluster's daemons.
type members struct {
	tokens       map[string]*state.Token
	certificates map[string]*state.Certificate // by serial number
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

// addToken adds a token, unless it is too late or there are too many.
func (m *members) addToken(t *state.Token, now int64) error {
	m.forget(now)
	switch {
	case t.Expires <= now:
		return fmt.Errorf("%w: the token has expired already, by the cluster's clock", ErrInvalid)
	case len(m.tokens) >= state.MaxTokens:
		return fmt.Errorf("%w: there are %d tokens; remove some with 'scored token remove'", ErrState, state.MaxTokens)
	}
	m.tokens[t.ID] = t
	return nil
}

func (m *members) removeToken(id string, now int64) error {
	m.forget(now)
	if m.tokens[id] == nil {
		return fmt.Errorf("%w: no token %s can be used; 'scored token list' shows those that can", ErrInvalid, clip(id))
	}
	delete(m.tokens, id)
	return nil
}

// admit exchanges a token for a certificate, and returns how many earlier ones of the daemon are
// revoked for it. It does not disclose whether the token or its secret is wrong.
func (m *members) admit(id string, secret []byte, cert *state.Certificate, now int64) (taken int, err error) {
	m.forget(now)
	t := m.tokens[id]
	switch {
	case t == nil || !pki.CheckSecret(secret, t.Verifier):
		return 0, fmt.Errorf("%w: the token is not known: it was used, has expired or was removed; make a new one with 'scored token create'", ErrDenied)
	case t.Role != cert.Role:
		return 0, fmt.Errorf("%w: the token is for a daemon of another role, %s", ErrDenied, t.Role)
	}
	delete(m.tokens, id)
	taken = m.revoke(cert.Role, cert.Name)
	m.certificates[string(cert.Serial)] = cert
	return taken, nil
}

func (m *members) renew(cert *state.Certificate, now int64) {
	m.forget(now)
	m.certificates[string(cert.Serial)] = cert
}

// revoke revokes the certificates of a daemon, and returns how many there were.
func (m *members) revoke(role, name string) (count int) {
	for serial, cert := range m.certificates {
		if cert.Role != role || cert.Name != name || cert.Revoked {
			continue
		}
		next := *cert
		next.Revoked = true
		m.certificates[serial] = &next
		count++
	}
	return count
}

// agentExpiries returns until when the certificates of each agent are valid.
func (m *members) agentExpiries() map[string]int64 {
	expires := make(map[string]int64)
	for _, cert := range m.certificates {
		if cert.Role == string(pki.Agent) && !cert.Revoked {
			expires[cert.Name] = max(expires[cert.Name], cert.Expires)
		}
	}
	return expires
}

// tokenList returns the valid tokens by the time of expiry.
func (m *members) tokenList(now int64) (list []*scorev1.JoinToken) {
	m.forget(now)
	for _, t := range m.tokens {
		list = append(list, &scorev1.JoinToken{Id: t.ID, Role: t.Role, ExpiresNanos: t.Expires, MadeBy: t.MadeBy})
	}
	slices.SortFunc(list, func(x, y *scorev1.JoinToken) int {
		return cmp.Or(cmp.Compare(x.GetExpiresNanos(), y.GetExpiresNanos()), cmp.Compare(x.GetId(), y.GetId()))
	})
	return list
}

// certificateList returns the certificates that have not expired, by role, name and expiry.
func (m *members) certificateList(now int64) (list []*scorev1.DaemonCertificate) {
	m.forget(now)
	for _, c := range m.certificates {
		list = append(list, &scorev1.DaemonCertificate{Serial: c.Serial, Role: c.Role, Name: c.Name, ExpiresNanos: c.Expires, Revoked: c.Revoked})
	}
	slices.SortFunc(list, func(x, y *scorev1.DaemonCertificate) int {
		return cmp.Or(cmp.Compare(x.GetRole(), y.GetRole()), cmp.Compare(x.GetName(), y.GetName()), cmp.Compare(x.GetExpiresNanos(), y.GetExpiresNanos()))
	})
	return list
}

// nodeRevoked is the refusal for an agent whose certificate was revoked.
const nodeRevoked = "the certificate of this node was revoked; join it again with a new token"

// addToken adds a token with which one daemon may join.
func (c *controller) addToken(t *pki.Token, by string) error {
	record := &state.Token{ID: t.ID, Role: string(t.Role), Verifier: t.Verifier(), Expires: t.Expires.UnixNano(), MadeBy: by}
	if err := c.members.addToken(record, c.now); err != nil {
		return err
	}
	c.propose(&statepb.Command{Command: &statepb.Command_AddToken{AddToken: &statepb.AddToken{Token: &statepb.Token{
		Id: record.ID, Role: record.Role, Verifier: record.Verifier, ExpiresNanos: record.Expires, MadeBy: by,
	}}}})
	return nil
}

func (c *controller) removeToken(id string) error {
	if err := c.members.removeToken(id, c.now); err != nil {
		return err
	}
	c.propose(&statepb.Command{Command: &statepb.Command_RemoveToken{RemoveToken: &statepb.RemoveToken{Id: id}}})
	return nil
}

func (c *controller) admit(id string, secret []byte, cert *state.Certificate) error {
	taken, err := c.members.admit(id, secret, cert, c.now)
	if err != nil {
		return err
	}
	c.propose(&statepb.Command{Command: &statepb.Command_Admit{Admit: &statepb.Admit{TokenId: id, Certificate: certificateProto(cert)}}})
	if taken > 0 {
		c.sendRevoked()
	}
	return nil
}

func (c *controller) renewed(cert *state.Certificate) error {
	c.members.renew(cert, c.now)
	c.propose(&statepb.Command{Command: &statepb.Command_RenewCertificate{RenewCertificate: &statepb.RenewCertificate{Certificate: certificateProto(cert)}}})
	return nil
}

// revokeCertificates revokes all certificates of a daemon, and disconnects an agent.
func (c *controller) revokeCertificates(role, name string) (int, error) {
	c.members.forget(c.now)
	count := c.members.revoke(role, name)
	if count == 0 {
		return 0, fmt.Errorf("%w: %s %s has no certificate that could be revoked; 'scored cert list' shows them", ErrInvalid, clip(role), clip(name))
	}
	c.propose(&statepb.Command{Command: &statepb.Command_RevokeCertificates{RevokeCertificates: &statepb.RevokeCertificates{Role: role, Name: name}}})
	c.sendRevoked()
	if n := c.nodes[name]; n != nil && role == string(pki.Agent) {
		c.closeLink(n.link, nodeRevoked)
	}
	return count, nil
}

// sendRevoked sends the revoked certificates to this server's listeners and to all agents.
func (c *controller) sendRevoked() {
	serials := c.members.revoked()
	if observe := c.observeRevoked; observe != nil {
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

func revokedMessage(serials [][]byte) *agentpb.ServerMessage {
	return &agentpb.ServerMessage{Message: &agentpb.ServerMessage_Revoked{Revoked: &agentpb.Revoked{Serials: serials}}}
}

func certificateProto(c *state.Certificate) *statepb.Certificate {
	return &statepb.Certificate{Serial: c.Serial, Role: c.Role, Name: c.Name, ExpiresNanos: c.Expires}
}
