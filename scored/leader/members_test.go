package leader

import (
	"errors"
	"fmt"
	"score/scored/api/identity/pki"
	"score/scored/state"
	"testing"
	"time"
)

// TestMembers: the controller's decisions fit the state, survive a change of leaders, and
// disconnect revoked agents.
func TestMembers(t *testing.T) {
	w := newWorld(t)
	var revoked [][]byte
	w.b.observeRevoked = func(serials [][]byte) { revoked = serials }
	token := func(life time.Duration) *pki.Token {
		tk, err := pki.NewToken(pki.Token{Cluster: "lab", Role: pki.Agent, Servers: []string{"h:1"}}, time.Unix(0, w.b.now), life)
		if err != nil {
			t.Fatal(err)
		}
		return tk
	}
	serial := byte(0)
	cert := func(name string) *state.Certificate {
		serial++
		return &state.Certificate{Serial: []byte{serial}, Role: "agent", Name: name, Expires: w.b.now + int64(time.Hour)}
	}
	admit := func(tk *pki.Token, secret []byte, c *state.Certificate) error {
		err := w.b.admit(tk.ID, secret, c)
		w.settle()
		return err
	}
	first, second, short := token(time.Hour), token(time.Hour), token(time.Second)
	for _, tk := range []*pki.Token{first, second, short} {
		if err := w.b.addToken(tk, "root"); err != nil {
			t.Fatal(err)
		}
	}
	w.settle()
	w.restart() // the next leader has the tokens and certificates
	w.b.observeRevoked = func(serials [][]byte) { revoked = serials }
	if err := admit(first, second.Secret, cert("n1")); !errors.Is(err, ErrDenied) {
		t.Errorf("another's secret: %v", err)
	}
	if err := admit(first, first.Secret, cert("n1")); err != nil {
		t.Error(err)
	}
	if err := admit(first, first.Secret, cert("n1")); !errors.Is(err, ErrDenied) {
		t.Errorf("twice: %v", err)
	}
	w.b.now += 2 * time.Second.Nanoseconds()
	if err := admit(short, short.Secret, cert("n2")); !errors.Is(err, ErrDenied) {
		t.Errorf("expired: %v", err)
	}
	wrong := cert("s2")
	wrong.Role = "server"
	if err := admit(second, second.Secret, wrong); !errors.Is(err, ErrDenied) {
		t.Errorf("wrong role: %v", err)
	}
	if err := w.b.renewed(cert("n1")); err != nil {
		t.Error(err)
	}
	w.settle()
	if len(revoked) != 0 {
		t.Errorf("revoked: %x", revoked)
	}
	if err := admit(second, second.Secret, cert("n1")); err != nil { // joined again: the old ones are revoked
		t.Error(err)
	}
	if len(revoked) != 2 {
		t.Errorf("revoked: %x", revoked)
	}
	count, _ := w.b.revokeCertificates("agent", "n1")
	w.settle()
	if count != 1 || len(revoked) != 3 {
		t.Errorf("%d revoked, the revoked know %x", count, revoked)
	}
	if _, err := w.b.revokeCertificates("agent", "n1"); !errors.Is(err, ErrInvalid) {
		t.Errorf("nothing to revoke: %v", err)
	}
	w.restart()
	if got := fmt.Sprintf("%x", w.b.members.revoked()); got != fmt.Sprintf("%x", revoked) {
		t.Errorf("the next leader knows %s, the revoked %x", got, revoked)
	}
}

// A node whose certificate was revoked is refused, even if a listener accepted it before its server
// learned of the revocation. After joining again it is accepted.
func TestRevokedNodeIsRefused(t *testing.T) {
	bench(t, func(t *testing.T, l *Leader, _ *fakeReplica) {
		admit := func(serial byte) {
			t.Helper()
			now, _ := l.Now()
			token, err := pki.NewToken(pki.Token{Cluster: "lab", Role: pki.Agent, Servers: []string{"h:1"}}, time.Unix(0, now), time.Hour)
			if err != nil {
				t.Fatal(err)
			}
			certificate := &state.Certificate{Serial: []byte{serial}, Role: "agent", Name: "n1", Expires: now + int64(time.Hour)}
			if err := errors.Join(l.AddToken(t.Context(), token, "root"), l.Admit(t.Context(), token.ID, token.Secret, certificate)); err != nil {
				t.Fatal(err)
			}
		}
		connect := func(serial byte, want string) {
			t.Helper()
			link := newChanLink()
			if refusal, err := l.Connect(t.Context(), hello("n1", 2), []byte{serial}, link); refusal != want || err != nil {
				t.Errorf("with certificate %d: %q, %v", serial, refusal, err)
			}
			l.Disconnect("n1", link)
		}
		admit(1)
		connect(1, "")
		if _, err := l.RemoveNode(t.Context(), "n1"); err != nil {
			t.Fatal(err)
		}
		connect(1, nodeRevoked)
		if _, err := l.RemoveNode(t.Context(), "n1"); err == nil {
			t.Error("the node is there again")
		}
		admit(2)
		connect(1, nodeRevoked)
		connect(2, "")
	})
}
