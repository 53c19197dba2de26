package main

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"score/scored/api/scorev1"
	"strings"
	"testing"
)

// A file that becomes shorter has an error of its own: io.EOF would be taken for a lost connection.
func TestAFileThatBecomesShorter(t *testing.T) {
	for _, size := range []int64{0, stageChunk, stageChunk + 1} { // the end comes between two pieces, or within one
		path := filepath.Join(t.TempDir(), "file")
		if err := os.WriteFile(path, make([]byte, 3*stageChunk), 0o600); err != nil {
			t.Fatal(err)
		}
		s := &source{path, &scorev1.StagedFile{}}
		if err := s.digest(); err != nil {
			t.Fatal(err)
		}
		if err := os.Truncate(path, size); err != nil {
			t.Fatal(err)
		}
		err := s.send(func(*scorev1.StageRequest) error { return nil })
		if err == nil || !strings.Contains(err.Error(), "became shorter") || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("%d bytes: %v", size, err)
		}
	}
}
