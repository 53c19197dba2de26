package nodeagent

import (
	"bufio"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"score/scored/api/atomicfile"
	"slices"
	"strings"

	"go.uber.org/zap"
)

// serversFile holds the addresses of the cluster's servers, one in a line, beside the certificate:
// an agent whose configured servers are all gone still finds the others.
const serversFile = "servers"

// maxServersFile bounds the bytes that are read from serversFile.
const maxServersFile = 16 << 10

// withKnownServers returns the configured servers, and the servers that an earlier agent of the
// node has saved.
func withKnownServers(o Options) []string {
	servers := slices.Clone(o.Servers)
	if o.CertificateDir == "" {
		return servers
	}
	file, err := os.Open(filepath.Join(o.CertificateDir, serversFile))
	if err != nil {
		if !errors.Is(err, fs.ErrNotExist) {
			o.Logger.Warn("the list of servers cannot be read", zap.Error(err))
		}
		return servers
	}
	defer file.Close()
	scheme, _, _ := strings.Cut(servers[0], "://")
	lines, read := bufio.NewScanner(file), 0
	for lines.Scan() && read < maxServersFile {
		read += len(lines.Bytes())
		if address := strings.TrimSpace(lines.Text()); address != "" {
			servers = append(servers, scheme+"://"+address)
		}
	}
	return servers
}

// saveServers writes the addresses to serversFile.
func (a *Agent) saveServers(addresses []string) {
	if a.options.CertificateDir == "" {
		return
	}
	path := filepath.Join(a.options.CertificateDir, serversFile)
	err := atomicfile.ReplaceBy(path+".new", path, []byte(strings.Join(addresses, "\n")+"\n"), 0o600)
	if err != nil {
		a.log.Warn("the list of servers cannot be written", zap.Error(err))
	}
}
