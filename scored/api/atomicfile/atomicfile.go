// Package atomicfile writes small files whole or not at all: a full disk or a crash leaves what was
// there before. It is not for large files, which are kept in memory meanwhile, nor for logs.
//
//	err := atomicfile.Replace(path, data, 0o600)
//
// The content is on disk before the file has its name. The name itself may be lost with the power;
// callers that need it sync the directory.
package atomicfile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// draftPattern names drafts, for which os.CreateTemp chooses the rest.
const draftPattern = ".draft-*"

// Create writes a file that must not exist yet. The error is fs.ErrExist if it does.
func Create(path string, data []byte, mode fs.FileMode) error {
	return writeTemp(path, data, mode, os.Link)
}

// Replace writes a file, or replaces it.
func Replace(path string, data []byte, mode fs.FileMode) error {
	return writeTemp(path, data, mode, os.Rename)
}

// ReplaceBy is like Replace, with a draft of a given name in the same directory, for one caller at
// a time. A draft that a crash has left is overwritten.
func ReplaceBy(draft, path string, data []byte, mode fs.FileMode) error {
	file, err := os.OpenFile(draft, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, mode)
	if err != nil {
		return err
	}
	return finish(file, path, data, mode, os.Rename)
}

// writeTemp writes a draft beside the file. place gives it the file's name.
func writeTemp(path string, data []byte, mode fs.FileMode, place func(draft, path string) error) error {
	file, err := os.CreateTemp(filepath.Dir(path), draftPattern)
	if err != nil {
		return err
	}
	return finish(file, path, data, mode, place)
}

// finish writes the draft to disk, closes it, and has place give it the file's name. The draft's
// own name goes in any case.
func finish(draft *os.File, path string, data []byte, mode fs.FileMode, place func(draft, path string) error) error {
	defer os.Remove(draft.Name())
	_, err := draft.Write(data)
	if err := errors.Join(err, draft.Chmod(mode), draft.Sync(), draft.Close()); err != nil {
		return err
	}
	return place(draft.Name(), path)
}
