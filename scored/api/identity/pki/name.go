package pki

import (
	"crypto/x509"
	"errors"
	"fmt"
	"net/url"
	"score/scored/api"
	"strings"
)

// Role is the role of a daemon.
type Role string

// The roles.
const (
	// Server is a replica of the scheduler.
	Server Role = "server"
	// Agent is the daemon of a node.
	Agent Role = "agent"
)

// ParseRole parses a role that a person typed.
func ParseRole(text string) (Role, error) {
	switch r := Role(text); r {
	case Server, Agent:
		return r, nil
	default:
		return "", fmt.Errorf("%q is not a role; use %s or %s", text, Server, Agent)
	}
}

// Name is the daemon that a certificate is for.
type Name struct {
	Cluster string
	Role    Role
	Name    string // of the server or node
}

// String returns the name for people.
func (n Name) String() string { return fmt.Sprintf("%s %s of cluster %s", n.Role, n.Name, n.Cluster) }

// scheme of the URI in a certificate, score://CLUSTER/ROLE/NAME.
const scheme = "score"

func (n Name) uri() *url.URL {
	return &url.URL{Scheme: scheme, Host: n.Cluster, Path: "/" + string(n.Role) + "/" + n.Name}
}

func (n Name) check() error {
	if _, err := ParseRole(string(n.Role)); err != nil {
		return err
	}
	for _, name := range []string{n.Cluster, n.Name} {
		if !api.ValidName(name) {
			return fmt.Errorf("the name %q may have up to %d letters, digits, - and _", name, api.MaxName)
		}
	}
	return nil
}

// errNoName means that a certificate is valid, but not a daemon's.
var errNoName = errors.New("it is not the certificate of a daemon")

// nameOf reads the name in a certificate. It proves nothing unless the certificate was verified.
func nameOf(c *x509.Certificate) (Name, error) {
	if len(c.URIs) != 1 {
		return Name{}, errNoName
	}
	return nameOfURI(c.URIs[0])
}

// URI returns the name as it stands in certificates, score://CLUSTER/ROLE/NAME.
func (n Name) URI() string { return n.uri().String() }

// ParseURI reads what URI gave.
func ParseURI(text string) (Name, error) {
	u, err := url.Parse(text)
	if err != nil {
		return Name{}, errNoName
	}
	return nameOfURI(u)
}

func nameOfURI(u *url.URL) (Name, error) {
	if u.Scheme != scheme {
		return Name{}, errNoName
	}
	role, name, ok := strings.Cut(strings.TrimPrefix(u.Path, "/"), "/")
	n := Name{Cluster: u.Host, Role: Role(role), Name: name}
	if !ok || n.check() != nil {
		return Name{}, errNoName
	}
	return n, nil
}
