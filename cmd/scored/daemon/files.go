package daemon

import (
	"io/fs"
	"os"
	"path/filepath"
	"score/scored/api/atomicfile"
)

// dirMode is the mode of directories that files of the configuration need.
const dirMode = 0o755

// newFile writes a file that must not exist yet, whole or not at all, and makes its directory.
func newFile(path string, data []byte, mode fs.FileMode) error {
	if err := os.MkdirAll(filepath.Dir(path), dirMode); err != nil {
		return err
	}
	return atomicfile.Create(path, data, mode)
}

// replaceFile is like newFile, for a file that may exist.
func replaceFile(path string, data []byte, mode fs.FileMode) error {
	if err := os.MkdirAll(filepath.Dir(path), dirMode); err != nil {
		return err
	}
	return atomicfile.Replace(path, data, mode)
}
