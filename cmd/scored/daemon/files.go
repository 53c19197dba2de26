package daemon

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// newFile writes a file that must not exist yet, whole or not at all.
func newFile(path string, data []byte, mode fs.FileMode) error {
	return writeFile(path, data, mode, os.Link)
}

// replaceFile writes a file, or replaces it, whole or not at all.
func replaceFile(path string, data []byte, mode fs.FileMode) error {
	return writeFile(path, data, mode, os.Rename)
}

// writeFile writes a draft beside the file; place turns it into the file.
func writeFile(path string, data []byte, mode fs.FileMode, place func(draft, path string) error) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	draft, err := os.CreateTemp(filepath.Dir(path), ".draft-") // mode 0600
	if err != nil {
		return err
	}
	defer os.Remove(draft.Name())
	_, err = draft.Write(data)
	if err = errors.Join(err, draft.Chmod(mode), draft.Sync(), draft.Close()); err != nil {
		return err
	}
	return place(draft.Name(), path)
}
