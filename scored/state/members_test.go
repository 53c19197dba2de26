package state

import (
	"errors"
	"fmt"
	"score/scored/state/statepb"
	"testing"
)

func addToken(id, role string, expires int64) *statepb.Command {
	return &statepb.Command{Command: &statepb.Command_AddToken{AddToken: &statepb.AddToken{
		Token: &statepb.Token{Id: id, Role: role, Verifier: []byte("v" + id), ExpiresNanos: expires, MadeBy: "root"},
	}}}
}

func removeToken(id string) *statepb.Command {
	return &statepb.Command{Command: &statepb.Command_RemoveToken{RemoveToken: &statepb.RemoveToken{Id: id}}}
}

func certificate(serial byte, role, name string, expires int64) *statepb.Certificate {
	return &statepb.Certificate{Serial: []byte{serial}, Role: role, Name: name, ExpiresNanos: expires}
}

func admit(token string, c *statepb.Certificate) *statepb.Command {
	return &statepb.Command{Command: &statepb.Command_Admit{Admit: &statepb.Admit{TokenId: token, Certificate: c}}}
}

func renew(c *statepb.Certificate) *statepb.Command {
	return &statepb.Command{Command: &statepb.Command_RenewCertificate{RenewCertificate: &statepb.RenewCertificate{Certificate: c}}}
}

func revoke(role, name string) *statepb.Command {
	return &statepb.Command{Command: &statepb.Command_RevokeCertificates{RevokeCertificates: &statepb.RevokeCertificates{Role: role, Name: name}}}
}

// drawMember makes a command about tokens and certificates.
func drawMember(d *dice, s *State) *statepb.Command {
	if tokens := s.Tokens(); len(tokens) > 0 && d.once(3) {
		token := pick(d, tokens)
		return admit(token.ID, certificate(byte(d.upTo(5)), token.Role, "n1", int64(d.upTo(60))))
	}
	id := pick(d, []string{"", "t1", "t2"})
	role := pick(d, []string{"server", "agent"})
	expires := int64(d.upTo(60))
	c := certificate(byte(d.upTo(5)), role, "n1", expires)
	return pick(d, []*statepb.Command{addToken(id, role, expires), removeToken(id), admit(id, c), renew(c), revoke(role, "n1")})
}

// at returns an entry with one command.
func at(now int64, c *statepb.Command) *statepb.Entry {
	e := entry(now)
	e.Commands = append(e.Commands, c)
	return e
}

// TestTokenOnce: a token admits one certificate, of its role, until it expires.
func TestTokenOnce(t *testing.T) {
	s := New()
	for i, step := range []struct {
		now     int64
		command *statepb.Command
		err     error
	}{
		{1, addToken("t1", "agent", 10), nil},
		{1, addToken("t1", "agent", 10), ErrCommand},
		{1, addToken("t2", "agent", 1), ErrCommand},
		{2, admit("t1", certificate(1, "server", "n1", 99)), ErrCommand},
		{2, admit("t2", certificate(1, "agent", "n1", 99)), ErrUnknownToken},
		{2, admit("t1", certificate(1, "agent", "n1", 99)), nil},
		{3, admit("t1", certificate(2, "agent", "n1", 99)), ErrUnknownToken},
		{3, addToken("t3", "agent", 5), nil},
		{5, admit("t3", certificate(2, "agent", "n1", 99)), ErrUnknownToken},
		{6, addToken("t4", "agent", 9), nil}, // and t3 is forgotten
		{6, removeToken("t3"), ErrUnknownToken},
		{6, removeToken("t4"), nil},
	} {
		if err := s.Apply(at(step.now, step.command)); !errors.Is(err, step.err) {
			t.Errorf("step %d: %v, want %v", i, err, step.err)
		}
	}
	if len(s.Tokens()) != 0 || len(s.Certificates()) != 1 {
		t.Errorf("%d tokens and %d certificates are left", len(s.Tokens()), len(s.Certificates()))
	}
}

// TestCertificates: joining again revokes the daemon's earlier certificate; expired ones are
// forgotten.
func TestCertificates(t *testing.T) {
	s := New()
	show := func() (text string) {
		for _, c := range s.Certificates() {
			text += fmt.Sprintf("%x %s %v; ", c.Serial, c.Name, c.Revoked)
		}
		return text
	}
	for i, step := range []struct {
		now     int64
		command *statepb.Command
		want    string
	}{
		{1, addToken("t1", "agent", 10), ""},
		{1, addToken("t2", "agent", 10), ""},
		{1, admit("t1", certificate(1, "agent", "n1", 20)), "01 n1 false; "},
		{2, renew(certificate(2, "agent", "n1", 40)), "01 n1 false; 02 n1 false; "},
		{3, renew(certificate(3, "agent", "n2", 30)), "01 n1 false; 02 n1 false; 03 n2 false; "},
		{4, admit("t2", certificate(4, "agent", "n1", 50)), "01 n1 true; 02 n1 true; 03 n2 false; 04 n1 false; "},
		{25, renew(certificate(6, "server", "n3", 60)), "01 n1 true; 02 n1 true; 03 n2 false; 04 n1 false; 06 n3 false; "},
		{20 + certificateMargin, renew(certificate(5, "server", "n2", 60+certificateMargin)), "02 n1 true; 03 n2 false; 04 n1 false; 05 n2 false; 06 n3 false; "},
		{21 + certificateMargin, revoke("agent", "n2"), "02 n1 true; 03 n2 true; 04 n1 false; 05 n2 false; 06 n3 false; "},
	} {
		if err := s.Apply(at(step.now, step.command)); err != nil {
			t.Fatalf("step %d: %v", i, err)
		}
		if got := show(); got != step.want {
			t.Errorf("step %d: %s, want %s", i, got, step.want)
		}
	}
	if err := s.Apply(at(22+certificateMargin, revoke("agent", "n2"))); !errors.Is(err, ErrUnknownCertificate) {
		t.Errorf("revoked twice: %v", err)
	}
}
