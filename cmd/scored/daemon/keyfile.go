package daemon

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

const (
	// maxKey bounds a key file; generated ones hold 26 letters and digits.
	maxKey = 1024
	// minKey is a length that nobody can guess: 16 letters and digits are 80 bits.
	minKey = 16
)

// loadKey reads the cluster's secret.
func loadKey(path string) (string, error) {
	file, err := os.OpenFile(path, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0) // a FIFO has no writer
	if errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("the key file %s does not exist: copy it from the server, which creates it at its start", path)
	}
	if errors.Is(err, unix.ELOOP) {
		return "", fmt.Errorf("the key file %s is a symbolic link, which is not followed: name the file itself", path)
	}
	if err != nil {
		return "", fmt.Errorf("cannot read the key file: %w", err)
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return "", fmt.Errorf("cannot read the key file: %w", err)
	}
	if !info.Mode().IsRegular() {
		return "", fmt.Errorf("the key file %s is not a regular file", path)
	}
	if info.Mode().Perm()&0o077 != 0 {
		return "", fmt.Errorf("others can read the key file %s (mode %04o): chmod 600 it", path, info.Mode().Perm())
	}
	text, err := io.ReadAll(io.LimitReader(file, maxKey+1))
	if err != nil {
		return "", fmt.Errorf("cannot read the key file: %w", err)
	}
	key := strings.TrimSpace(string(text))
	if len(key) < minKey || len(text) > maxKey || strings.ContainsAny(key, " \t\r\n\x00") {
		return "", fmt.Errorf(
			"the key file %s does not hold a key: one word of %d letters and digits or more; remove it, and the server makes a new one",
			path,
			minKey,
		)
	}
	return key, nil
}

// makeKey makes the key file if it is missing. The file appears whole or not at all. If another
// server has made it meanwhile, that one stays.
func makeKey(path string) error {
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := newFile(path, []byte(rand.Text()+"\n"), 0o600); err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("cannot make the key file: %w", err)
	}
	return nil
}
