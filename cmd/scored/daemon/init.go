package daemon

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"score/cmd/cmdline"
	"score/cmd/scored/config"
	"score/scored/api/identity/pki"
	"score/scored/api/quote"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
)

// serverPort and agentPort are the daemons' default ports.
const (
	serverPort = 7420
	agentPort  = 7421
)

// listenAt sets the addresses of both daemons in a new configuration, since the other one may be
// started on this host later.
func listenAt(c *config.Config, host string) {
	c.Server.AgentsListen = net.JoinHostPort(host, strconv.Itoa(serverPort))
	c.Agent.Listen = net.JoinHostPort(host, strconv.Itoa(agentPort))
}

// initPlan is what init will make.
type initPlan struct {
	config, cluster, server, address, certificates, key string
}

func initCommand() *cobra.Command {
	var p initPlan
	command := &cobra.Command{
		Use:   "init",
		Short: "create a new cluster: its authority, the server's certificate and a configuration",
		Long: `Creates a new cluster on the host of its server: the authority that signs the daemons'
certificates, the server's certificate, the cluster's key, and a commented
configuration file. Then 'scored server' runs, and
'scored token create' makes tokens with which agents join from other hosts.

Existing files are not replaced.`,
		Args: cmdline.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			return p.run(command.Context(), command.OutOrStdout())
		},
	}
	flags := command.Flags()
	flags.StringVar(&p.config, "config", "", "configuration `file` to write (default: $"+configVariable+", else "+config.DefaultPath+")")
	flags.StringVar(&p.cluster, "name", config.Default().Cluster.Name, "the cluster's `name`")
	flags.StringVar(&p.server, "server", "", "the server's `name` (default: the host's)")
	flags.StringVar(&p.address, "address", "", "`address` by which the other hosts reach this one, host or host:port (default: the host's name)")
	flags.StringVar(&p.certificates, "certificates", defaultCertificates, "`directory` of the certificates")
	flags.StringVar(&p.key, "key-file", config.Default().Cluster.KeyFile, "`file` of the cluster's key")
	return command
}

func (p *initPlan) run(ctx context.Context, out io.Writer) error {
	c, err := p.configuration()
	if err != nil {
		return err
	}
	path := configPath(p.config)
	if !config.Unset(path) {
		return fmt.Errorf("the configuration %s exists: this host has or had a cluster; to start over remove it and %s", path, p.certificates)
	}
	dir := certificateDir(c.Cluster, pki.Server, c.Server.Name)
	authority, err := p.certify(c, dir)
	if err != nil {
		return err
	}
	if err := makeKey(c.Cluster.KeyFile); err != nil {
		return err
	}
	if err := writeConfig(path, c); err != nil {
		return err
	}
	p.explain(ctx, out, c, path, dir, pki.DigestOf(authority.Certificate()))
	return nil
}

// explain prints what was made, the configuration at path and the certificates in dir, and what to
// do next.
func (p *initPlan) explain(ctx context.Context, out io.Writer, c config.Config, path, dir string, authority pki.Digest) {
	fmt.Fprintf(
		out,
		"Cluster %s is made.\n  configuration  %s\n  certificates   %s (authority %x)\n  key            %s\n\n",
		c.Cluster.Name,
		quote.Text(path),
		quote.Text(dir),
		authority[:8],
		quote.Text(c.Cluster.KeyFile),
	)
	if p.address == "" && resolvesToLoopback(ctx, c.Server.Name) {
		fmt.Fprintf(
			out,
			"Only this host reaches %s: the name is an address of loopback here. If there are other hosts, start over with --address.\n",
			c.Server.AgentsListen,
		)
	}
	fmt.Fprintf(
		out,
		"Next: run 'scored server%s' here; then 'scored token create' gives what 'scored join' takes on each node.\n",
		quote.Text(p.configFlag()),
	)
	fmt.Fprintf(
		out,
		"Keep a copy of %s in a safe place: it can sign certificates for daemons of the cluster.\n",
		quote.Text(filepath.Join(dir, pki.AuthorityKeyFile)),
	)
}

// configFlag returns the flag with which the other daemons of this host find the configuration.
func (p *initPlan) configFlag() string {
	if p.config == "" {
		return "" // they look in the default places, too
	}
	return " --config " + shellWord(p.config)
}

// shellWord quotes a word for a shell.
func shellWord(word string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("/._-+:@%=,", r)
	}
	if word != "" && strings.IndexFunc(word, func(r rune) bool { return !plain(r) }) < 0 {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// configuration returns the new cluster's configuration, checked as a daemon does.
func (p *initPlan) configuration() (config.Config, error) {
	c := config.Default()
	c.Cluster.Name, c.Cluster.KeyFile, c.Cluster.Certificates = p.cluster, p.key, p.certificates
	c.Server.Name = p.server
	name, err := serverName(c)
	if err != nil {
		return c, err
	}
	c.Server.Name = name
	address := p.address
	if address == "" {
		address = name
	}
	if _, _, err := net.SplitHostPort(address); err != nil {
		address = net.JoinHostPort(address, strconv.Itoa(serverPort))
	}
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return c, err
	}
	listenAt(&c, host)
	c.Server.AgentsListen, c.Agent.Servers = address, []string{address}
	return c, config.Check(c)
}

// certify makes the authority's certificate and the server's.
func (p *initPlan) certify(c config.Config, dir string) (*pki.Authority, error) {
	if pki.Joined(dir) {
		return nil, fmt.Errorf("%s contains certificates: this host has or had a cluster; to start over remove them", dir)
	}
	now := time.Now()
	authority, err := pki.NewAuthority(c.Cluster.Name, now)
	if err != nil {
		return nil, err
	}
	request, err := pki.NewRequest()
	if err != nil {
		return nil, err
	}
	name := pki.Name{Cluster: c.Cluster.Name, Role: pki.Server, Name: c.Server.Name}
	signed, err := authority.Sign(request.Bytes(), name, now, pki.DefaultLife)
	if err != nil {
		return nil, err
	}
	own, err := pki.NewCredentials(authority.Certificate(), signed.Raw, request, time.Now)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(c.Cluster.Certificates, 0o700); err != nil {
		return nil, err
	}
	return authority, errors.Join(authority.Save(dir), own.Save(dir), pki.MarkBootstrap(dir, pki.BeginCluster))
}
