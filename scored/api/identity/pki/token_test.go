package pki

import (
	"crypto/tls"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
)

func newToken(t testing.TB, a *Authority) *Token {
	t.Helper()
	servers := []string{"10.0.0.1:7420", "[::1]:7420"}
	token, err := NewToken(Token{Cluster: "c1", Role: Agent, Authority: DigestOf(a.Certificate()), Servers: servers}, epoch, DefaultTokenLife)
	if err != nil {
		t.Fatal(err)
	}
	return token
}

func TestToken(t *testing.T) {
	token := newToken(t, newAuthority(t))
	text, err := token.Text()
	if err != nil {
		t.Fatal(err)
	}
	got, err := ParseToken(" " + text + "\n")
	if err != nil {
		t.Fatal(err)
	}
	if fmt.Sprint(got.ID, got.Cluster, got.Role, got.Expires, got.Authority, got.Servers) !=
		fmt.Sprint(token.ID, token.Cluster, token.Role, token.Expires, token.Authority, token.Servers) {
		t.Errorf("%+v, want %+v", *got, *token)
	}
	if !CheckSecret(got.Secret, token.Verifier()) {
		t.Error("the secret is not accepted")
	}
	got.Secret[0] ^= 1
	if CheckSecret(got.Secret, token.Verifier()) || CheckSecret(nil, token.Verifier()) || CheckSecret(token.Secret, nil) {
		t.Error("another secret is accepted")
	}
	for _, printed := range []string{fmt.Sprint(token), fmt.Sprintf("%v %+v %#v %s", token, token, token, token)} {
		if strings.Contains(printed, string(token.Secret)) || strings.Contains(printed, fmt.Sprintf("%x", token.Secret)) {
			t.Errorf("the secret is in %q", printed)
		}
	}
}

func TestTokenTime(t *testing.T) {
	token := newToken(t, newAuthority(t))
	if err := token.CheckTime(epoch.Add(DefaultTokenLife)); err != nil {
		t.Error(err)
	}
	err := token.CheckTime(epoch.Add(DefaultTokenLife + 10*time.Minute))
	if !errors.Is(err, ErrToken) || !strings.Contains(err.Error(), "expired 10 minutes ago") {
		t.Error(err)
	}
}

func TestBadTokens(t *testing.T) {
	text, err := newToken(t, newAuthority(t)).Text()
	if err != nil {
		t.Fatal(err)
	}
	for _, bad := range []string{
		"", "score1-", text[:len(text)-1], text + "x", "x" + text, text[:20] + "!" + text[21:], strings.Repeat("score1-", 1000),
		tokenPrefix + "e30", tokenPrefix + "bnVsbA",
	} {
		if _, err := ParseToken(bad); !errors.Is(err, ErrToken) {
			t.Errorf("%.30q: %v", bad, err)
		}
	}
	digest := Digest{}
	for name, make := range map[string]func() (*Token, error){
		"no servers": func() (*Token, error) {
			return NewToken(Token{Cluster: "c1", Role: Agent, Authority: digest, Servers: nil}, epoch, time.Hour)
		},
		"no port": func() (*Token, error) {
			return NewToken(Token{Cluster: "c1", Role: Agent, Authority: digest, Servers: []string{"host"}}, epoch, time.Hour)
		},
		"too long": func() (*Token, error) {
			return NewToken(Token{Cluster: "c1", Role: Agent, Authority: digest, Servers: []string{"h:1"}}, epoch, MaxTokenLife+1)
		},
		"no role": func() (*Token, error) {
			return NewToken(Token{Cluster: "c1", Role: "user", Authority: digest, Servers: []string{"h:1"}}, epoch, time.Hour)
		},
	} {
		if _, err := make(); !errors.Is(err, ErrToken) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func FuzzToken(f *testing.F) {
	text, err := newToken(f, newAuthority(f)).Text()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text)
	f.Add(tokenPrefix + "e30")
	f.Fuzz(func(t *testing.T, text string) {
		token, err := ParseToken(text)
		if err != nil {
			return
		}
		if again, err := token.Text(); err != nil {
			t.Fatal(err)
		} else if _, err := ParseToken(again); err != nil {
			t.Fatalf("%q: %v", again, err)
		}
	})
}

// TestNewcomerConfig: a newcomer recognises the cluster by its token, and nobody else's.
func TestNewcomerConfig(t *testing.T) {
	ours, theirs, at := newAuthority(t), newAuthority(t), &clock{epoch}
	token := newToken(t, ours)
	for _, c := range []struct {
		name   string
		config *tls.Config
		fault  Fault
	}{
		{"server", daemon(t, ours, Name{"c1", Server, "s1"}, at.now).NewcomerConfig(), FaultNone},
		{"agent", daemon(t, ours, Name{"c1", Agent, "n1"}, at.now).NewcomerConfig(), FaultRole},
		{"other cluster", daemon(t, theirs, Name{"c1", Server, "s1"}, at.now).NewcomerConfig(), FaultForeign},
		{"shows our authority", impostor(daemon(t, theirs, Name{"c1", Server, "s1"}, at.now), ours), FaultForeign},
		{"authority alone", &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{ours.cert.Raw}, PrivateKey: ours.key}}}, FaultForeign},
	} {
		_, _, err := shake(t, c.config, Joining(token, at.now))
		if FaultOf(err) != c.fault || (err == nil) != (c.fault == FaultNone) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

// impostor shows a certificate of its own with the authority of others.
func impostor(c *Credentials, a *Authority) *tls.Config {
	own := *c.current.Load()
	own.Certificate = [][]byte{own.Certificate[0], a.cert.Raw}
	return &tls.Config{Certificates: []tls.Certificate{own}}
}
