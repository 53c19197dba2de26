package pki

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"score/scored/api/atomicfile"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Names of the files of a daemon, in PEM.
const (
	// AuthorityFile is the certificate of the cluster's authority.
	AuthorityFile = "ca.crt"
	// AuthorityKeyFile is the authority's key; servers have it.
	AuthorityKeyFile = "ca.key"
	// BootstrapFile is beside the certificate of a new server until it has state: a server that has
	// lost its state later must not begin a second cluster of the same name, nor be taken for the
	// server that it was.
	BootstrapFile = "begin"
	// DaemonFile is the daemon's certificate and its key, in one file so that they are renewed as
	// one.
	DaemonFile = "daemon.pem"
	// ServersFile has the addresses of the servers that the daemon's token named, a line each.
	ServersFile = "servers"
)

const (
	dirMode     fs.FileMode = 0o700
	privateMode fs.FileMode = 0o600
	// maxFile bounds the size of these files; ours have 2 kB.
	maxFile = 64 << 10

	pemCertificate = "CERTIFICATE"
	pemKey         = "PRIVATE KEY"
)

// ErrFiles is wrapped by errors of the files; the sentence says what to do.
var ErrFiles = errors.New("certificates")

// ErrDamaged is wrapped by those of files that are there and hold no certificate or key, or
// another's. Only an administrator can help.
var ErrDamaged = fmt.Errorf("%w: a file is damaged", ErrFiles)

// Joined reports whether a directory holds a daemon's certificate.
func Joined(dir string) bool {
	_, err := os.Lstat(filepath.Join(dir, DaemonFile))
	return err == nil
}

// NeedsToken reports whether the certificate in a directory is damaged, incomplete or has expired:
// the daemon can only join again.
func NeedsToken(dir string, now func() time.Time) bool {
	own, err := Load(dir, now)
	if err != nil {
		return errors.Is(err, ErrDamaged) || errors.Is(err, fs.ErrNotExist)
	}
	return FaultOf(own.Check()) == FaultExpired
}

// Bootstrap determines how a server that has a certificate and no state gets its state.
type Bootstrap string

// The ways.
const (
	BeginCluster Bootstrap = "cluster" // by beginning a new one
	BeginMember  Bootstrap = "member"  // from the other servers
	BegunAlready Bootstrap = ""        // it had one
)

// MarkBootstrap writes BootstrapFile.
func MarkBootstrap(dir string, how Bootstrap) error {
	return write(filepath.Join(dir, BootstrapFile), []byte(how+"\n"))
}

// ReadBootstrap returns the content of BootstrapFile.
func ReadBootstrap(dir string) Bootstrap {
	text, err := read(filepath.Join(dir, BootstrapFile))
	if err != nil {
		return BegunAlready
	}
	return Bootstrap(strings.TrimSpace(string(text)))
}

// ClearBootstrap removes BootstrapFile.
func ClearBootstrap(dir string) error {
	if err := os.Remove(filepath.Join(dir, BootstrapFile)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w: %w", ErrFiles, err)
	}
	return nil
}

// SaveServers writes ServersFile.
func SaveServers(dir string, addresses []string) error {
	if err := os.MkdirAll(dir, dirMode); err != nil {
		return fmt.Errorf("%w: %w", ErrFiles, err)
	}
	return write(filepath.Join(dir, ServersFile), []byte(strings.Join(addresses, "\n")+"\n"))
}

// ReadServers returns the addresses in ServersFile; none if there is none.
func ReadServers(dir string) []string {
	text, err := read(filepath.Join(dir, ServersFile))
	if err != nil {
		return nil
	}
	return strings.Fields(string(text))
}

// Load reads the credentials of a daemon.
func Load(dir string, now func() time.Time) (*Credentials, error) {
	authority, err := loadAuthority(dir)
	if err != nil {
		return nil, err
	}
	path := filepath.Join(dir, DaemonFile)
	data, err := readPrivate(path)
	if err != nil {
		return nil, err
	}
	own, err := tls.X509KeyPair(data, data)
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %w; join again with a new token", ErrDamaged, path, err)
	}
	return newCredentials(authority, &own, now)
}

func loadAuthority(dir string) (*x509.Certificate, error) {
	path := filepath.Join(dir, AuthorityFile)
	data, err := read(path)
	if err != nil {
		return nil, err
	}
	block, _ := pem.Decode(data)
	if block == nil || block.Type != pemCertificate {
		return nil, fmt.Errorf("%w: %s holds no certificate; copy it from another host of the cluster", ErrDamaged, path)
	}
	authority, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %w; copy it from another host of the cluster", ErrDamaged, path, err)
	}
	return authority, nil
}

// LoadAuthority reads the authority with its key, as servers have it.
func LoadAuthority(dir string) (*Authority, error) {
	cert, err := loadAuthority(dir)
	if err != nil {
		return nil, err
	}
	path := filepath.Join(dir, AuthorityKeyFile)
	data, err := readPrivate(path)
	if err != nil {
		return nil, err
	}
	return parseAuthority(cert, data, path)
}

func parseAuthority(cert *x509.Certificate, key []byte, from string) (*Authority, error) {
	block, _ := pem.Decode(key)
	err := errNoKey
	if block != nil && block.Type == pemKey {
		var a *Authority
		if a, err = authorityOf(cert, block.Bytes); err == nil {
			return a, nil
		}
	}
	return nil, fmt.Errorf("%w: %s: %w; copy it and %s from another server, or from where you keep a copy", ErrDamaged, from, err, AuthorityFile)
}

var (
	errNoKey    = errors.New("it holds no key")
	errOtherKey = errors.New("the key is not that of the authority's certificate")
)

func authorityOf(cert *x509.Certificate, key []byte) (*Authority, error) {
	parsed, err := x509.ParsePKCS8PrivateKey(key)
	if err != nil {
		return nil, err
	}
	private, ok := parsed.(*ecdsa.PrivateKey)
	if !ok || !private.PublicKey.Equal(cert.PublicKey) {
		return nil, errOtherKey
	}
	return &Authority{cert: cert, key: private}, nil
}

// Save writes the authority with its key into the directory of a server.
func (a *Authority) Save(dir string) error {
	key, err := encodeKey(a.key)
	if err != nil {
		return err
	}
	return errors.Join(saveAuthority(dir, a.cert), write(filepath.Join(dir, AuthorityKeyFile), key))
}

// Save writes certificate, key and the authority's certificate into a directory, which is made if
// need be. Each file appears whole or stays as it was.
func (c *Credentials) Save(dir string) error {
	own := c.current.Load()
	private, ok := own.PrivateKey.(*ecdsa.PrivateKey)
	if !ok {
		return fmt.Errorf("%w: the key is not ECDSA", ErrFiles)
	}
	key, err := encodeKey(private)
	if err != nil {
		return err
	}
	data := append(encodeCertificate(own.Leaf), key...)
	return errors.Join(saveAuthority(dir, c.authority), write(filepath.Join(dir, DaemonFile), data))
}

func saveAuthority(dir string, cert *x509.Certificate) error {
	if err := os.MkdirAll(dir, dirMode); err != nil {
		return fmt.Errorf("%w: %w", ErrFiles, err)
	}
	path, data := filepath.Join(dir, AuthorityFile), encodeCertificate(cert)
	if there, err := read(path); err == nil && bytes.Equal(there, data) {
		return nil
	}
	return write(path, data)
}

func encodeCertificate(c *x509.Certificate) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: pemCertificate, Bytes: c.Raw})
}

func encodeKey(key *ecdsa.PrivateKey) ([]byte, error) {
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrFiles, err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: pemKey, Bytes: der}), nil
}

func write(path string, data []byte) error {
	if err := atomicfile.Replace(path, data, privateMode); err != nil {
		return fmt.Errorf("%w: cannot write %s: %w", ErrFiles, path, err)
	}
	return nil
}

func read(path string) ([]byte, error) {
	return readChecked(path, func(fs.FileInfo) error { return nil })
}

// readPrivate refuses a key that others can read.
func readPrivate(path string) ([]byte, error) {
	return readChecked(path, func(info fs.FileInfo) error {
		if mode := info.Mode().Perm(); mode&^privateMode != 0 {
			return fmt.Errorf("%w: others can read %s (mode %04o): chmod 600 it", ErrFiles, path, mode)
		}
		return nil
	})
}

func readChecked(path string, check func(fs.FileInfo) error) ([]byte, error) {
	file, err := os.OpenFile(path, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf(
			"%w: there is no %s: this host has not joined a cluster; run 'scored init' on the first server, or join with a token: %w",
			ErrFiles,
			path,
			fs.ErrNotExist,
		)
	}
	if errors.Is(err, unix.ELOOP) {
		return nil, fmt.Errorf("%w: %s is a symbolic link, which is not followed: put the file itself there", ErrFiles, path)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrFiles, err)
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrFiles, err)
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%w: %s is not a regular file: put the file itself there", ErrFiles, path)
	}
	if err := check(info); err != nil {
		return nil, err
	}
	data, err := io.ReadAll(io.LimitReader(file, maxFile))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrFiles, err)
	}
	return data, nil
}

// reload uses the certificate in the directory if it is newer than the present one, as when another
// process renewed it.
func (c *Credentials) reload(dir string) error {
	next, err := Load(dir, c.now)
	if err != nil {
		return err
	}
	if !next.current.Load().Leaf.NotBefore.After(c.current.Load().Leaf.NotBefore) {
		return nil
	}
	return c.replace(next)
}
