package daemon

import (
	"fmt"
	"path/filepath"
	"score/cmd/scored/config"
	"score/scored/api/identity/pki"
	"slices"
	"time"
)

// certificateDir returns the directory of a daemon's certificate. Several agents of one host have
// one each.
func certificateDir(c config.Cluster, role pki.Role, name string) string {
	return filepath.Join(c.Certificates, string(role)+"-"+name)
}

// credentials loads a daemon's credentials and returns them with their directory; nil in a cluster
// without certificates.
func credentials(c config.Cluster, role pki.Role, name string) (*pki.Credentials, string, error) {
	if c.Certificates == "" {
		return nil, "", nil
	}
	dir := certificateDir(c, role, name)
	loaded, err := pki.Load(dir, time.Now)
	return loaded, dir, err
}

// serverAddresses returns the servers in the configuration, then those that the daemon's token
// named: joining does not change a configuration that sets keys, and the servers in it may all be
// gone.
func serverAddresses(c config.Config, certificates string) []string {
	addresses := c.Agent.Servers
	if certificates == "" {
		return addresses
	}
	for _, address := range pki.ReadServers(certificates) {
		if !slices.Contains(addresses, address) {
			addresses = append(slices.Clip(addresses), address)
		}
	}
	return addresses
}

// serverName returns the configured name, or the host's.
func serverName(c config.Config) (string, error) {
	if c.Server.Name != "" {
		return c.Server.Name, nil
	}
	return hostName()
}

// agentName returns the configured name, or the host's.
func agentName(c config.Config) (string, error) {
	if c.Agent.Name != "" {
		return c.Agent.Name, nil
	}
	return hostName()
}

// configPath returns the configuration file: from the flag, the environment or the default.
func configPath(flag string) string {
	if flag = namedConfig(flag); flag != "" {
		return flag
	}
	return config.DefaultPath
}

// writeConfig writes a new configuration file that explains all keys. It replaces a file that sets
// no key.
func writeConfig(path string, c config.Config) error {
	text, err := config.Commented(configHead, c)
	if err != nil {
		return err
	}
	write := newFile
	if config.Unset(path) {
		write = replaceFile
	}
	if err := write(path, []byte(text), 0o644); err != nil {
		return fmt.Errorf("cannot write the configuration: %w", err)
	}
	return nil
}

const configHead = `# Configuration of the daemons of score: scored server and scored agent.
# Keys that have their default stand here as comments.
`
