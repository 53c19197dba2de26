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
		tk, err := pki.NewToken("lab", pki.Agent, pki.Digest{}, []string{"h:1"}, time.Unix(0, w.b.now), life)
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
	do := func(f func(answer func(struct{}, error))) (got error) {
		got = errors.New("not answered")
		f(func(_ struct{}, err error) { got = err })
		w.settle()
		return got
	}
	add := func(tk *pki.Token) error {
		return do(func(answer func(struct{}, error)) { w.b.addToken(tk, "root", answer) })
	}
	admit := func(tk *pki.Token, secret []byte, c *state.Certificate) error {
		return do(func(answer func(struct{}, error)) { w.b.admit(tk.ID, secret, c, answer) })
	}
	first, second, short := token(time.Hour), token(time.Hour), token(time.Second)
	for _, tk := range []*pki.Token{first, second, short} {
		if err := add(tk); err != nil {
			t.Fatal(err)
		}
	}
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
	if err := do(func(answer func(struct{}, error)) { w.b.renewed(cert("n1"), answer) }); err != nil {
		t.Error(err)
	}
	if len(revoked) != 0 {
		t.Errorf("revoked: %x", revoked)
	}
	if err := admit(second, second.Secret, cert("n1")); err != nil { // joined again: the old ones are revoked
		t.Error(err)
	}
	if len(revoked) != 2 {
		t.Errorf("revoked: %x", revoked)
	}
	count := -1
	w.b.revokeCertificates("agent", "n1", func(n int, err error) { count = n })
	w.settle()
	if count != 1 || len(revoked) != 3 {
		t.Errorf("%d revoked, the revoked know %x", count, revoked)
	}
	var refused error
	w.b.revokeCertificates("agent", "n1", func(_ int, err error) { refused = err })
	w.settle()
	if !errors.Is(refused, ErrInvalid) {
		t.Errorf("nothing to revoke: %v", refused)
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
			token, err := pki.NewToken("lab", pki.Agent, pki.Digest{}, []string{"h:1"}, time.Unix(0, now), time.Hour)
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
