package daemon

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"score/cmd/scored/config"
	"score/scored/api/identity/join"
	"score/scored/api/identity/pki"
	"strings"
	"time"

	"github.com/spf13/cobra"
)

// defaultCertificates is where a host that joins keeps its certificates.
const defaultCertificates = "/etc/score/certificates"

// role is the kind of daemon that joins.
type role struct {
	pki  pki.Role
	noun string
	name func(config.Config) (string, error)
}

var (
	agentRole  = role{pki.Agent, "node", agentName}
	serverRole = role{pki.Server, "server", serverName}
)

// joining describes a daemon that joins before it runs.
type joining struct {
	text   string // of the token; "-": read it from standard input
	config string // the flag
	role   role
}

// join makes this host's daemon a member, unless it is one already, and returns the configuration
// to run with.
func (j joining) join(ctx context.Context, c config.Config, in io.Reader, out io.Writer) (config.Config, error) {
	token, err := readToken(j.text, in)
	if err != nil {
		return c, err
	}
	if token.Role != j.role.pki {
		return c, fmt.Errorf(
			"the token is for daemons of another role: run 'scored %s --join', or make one with 'scored token create --role %s'",
			token.Role,
			j.role.pki,
		)
	}
	return j.admit(ctx, c, token, out)
}

// admit joins with a token of the daemon's role.
func (j joining) admit(ctx context.Context, c config.Config, token *pki.Token, out io.Writer) (config.Config, error) {
	path := configPath(j.config)
	fresh := config.Unset(path)
	if fresh {
		c.Cluster.Name, c.Agent.Servers = token.Cluster, token.Servers
	}
	if c.Cluster.Certificates == "" {
		if !fresh {
			return c, fmt.Errorf("%s names no directory for certificates; set cluster.certificates, or remove the file", path)
		}
		c.Cluster.Certificates = defaultCertificates
	}
	if c.Cluster.Name != token.Cluster {
		return c, fmt.Errorf("the token is for cluster %s, and %s says %s", token.Cluster, path, c.Cluster.Name)
	}
	name, err := j.role.name(c)
	if err != nil {
		return c, err
	}
	dir := certificateDir(c.Cluster, j.role.pki, name)
	if pki.Joined(dir) && !pki.NeedsToken(dir, time.Now) {
		fmt.Fprintf(out, "scored: %s %s has joined already; the token is not used\n", j.role.noun, name)
		return c, nil
	}
	member, err := join.Join(ctx, token, name, time.Now)
	if err != nil {
		return c, err
	}
	if fresh {
		listenAt(&c, member.Address)
	}
	if err := save(c, dir, token, member); err != nil {
		return c, err
	}
	if fresh {
		if err := writeConfig(path, c); err != nil {
			return c, err
		}
	}
	fmt.Fprintf(out, "scored: %s %s has joined cluster %s\n", j.role.noun, name, token.Cluster)
	return c, nil
}

var errNoToken = errors.New("no token came on standard input; 'scored token create' says why, where it was to be made")

// readToken reads the token from the command line or, if text is "-", from standard input, which
// other users cannot see.
func readToken(text string, in io.Reader) (*pki.Token, error) {
	if text == "-" {
		read, err := io.ReadAll(io.LimitReader(in, pki.MaxToken+1))
		if err != nil {
			return nil, fmt.Errorf("cannot read the token: %w", err)
		}
		if text = string(read); strings.TrimSpace(text) == "" {
			return nil, errNoToken
		}
	}
	return pki.ParseToken(text)
}

// save saves what the daemon got by joining.
func save(c config.Config, dir string, token *pki.Token, m *join.Member) error {
	for _, made := range []string{c.Cluster.Certificates, filepath.Dir(c.Cluster.KeyFile)} {
		if err := os.MkdirAll(made, 0o755); err != nil {
			return err
		}
	}
	if err := pki.SaveServers(dir, token.Servers); err != nil {
		return err
	}
	if m.Authority != nil {
		if err := keepKey(c.Cluster.KeyFile, m.ClusterKey); err != nil {
			return err
		}
		if err := errors.Join(m.Authority.Save(dir), pki.MarkBootstrap(dir, pki.BeginMember)); err != nil {
			return err
		}
	}
	return m.Credentials.Save(dir) // last: this completes the joining
}

// keepKey saves the cluster's key, unless the host has it.
func keepKey(path, key string) error {
	if there, err := loadKey(path); err == nil {
		if there != key {
			return fmt.Errorf("the key file %s is another cluster's; remove it, or set cluster.key_file", path)
		}
		return nil
	}
	if err := newFile(path, []byte(key+"\n"), 0o600); err != nil {
		return fmt.Errorf("cannot write the key file: %w", err)
	}
	return nil
}

// addJoin adds the flag --join to the command of a daemon that runs once per host.
func addJoin(command *cobra.Command, token *string, daemon string) {
	command.Flags().StringVar(
		token,
		"join",
		"",
		"join the cluster with this `token` first, unless this "+daemon+" has joined; - reads it from standard input, where other users do not see it",
	)
}

// joined joins the cluster and returns the configuration after that. ^C ends it.
func joined(command *cobra.Command, c config.Config, j joining) (config.Config, error) {
	ctx, stop := untilStopped(command.Context())
	defer stop()
	return j.join(ctx, c, command.InOrStdin(), command.ErrOrStderr())
}

// joiningConfig reads the configuration. A host that is about to join may have none yet.
func joiningConfig(path, token string) (config.Config, error) {
	c, err := loadConfig(path)
	if token != "" && errors.Is(err, fs.ErrNotExist) {
		return config.Default(), nil
	}
	return c, err
}
