package main

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"score/scored/api"
	"score/scored/api/scorev1"
	"score/scored/client"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"connectrpc.com/connect"
)

// A file that becomes shorter has an error of its own: io.EOF would be taken for a lost connection.
func TestAFileThatBecomesShorter(t *testing.T) {
	for _, size := range []int64{0, stageChunk, stageChunk + 1} { // the end comes between two pieces, or within one
		path := filepath.Join(t.TempDir(), "file")
		if err := os.WriteFile(path, make([]byte, 3*stageChunk), 0o600); err != nil {
			t.Fatal(err)
		}
		s := &source{path, &scorev1.StagedFile{}}
		if err := s.digest(t.Context(), 3*stageChunk); err != nil {
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

// Files that are too large are refused before they are read, and reading ends when the user leaves.
func TestLargeFilesAreNotReadToTheirEnd(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	large := func() []*source { // together: it is the room for all
		return []*source{{path, &scorev1.StagedFile{}}, {path, &scorev1.StagedFile{}}}
	}
	left, leave := context.WithCancel(t.Context())
	leave()
	for _, c := range []struct {
		ctx   context.Context
		bytes int64
		want  error
	}{
		{t.Context(), api.MaxStagedBytes + 1, api.ErrStagedBytes},
		{left, api.MaxStagedBytes, context.Canceled},
		{t.Context(), 1, nil},
	} {
		if err := os.Truncate(path, c.bytes); err != nil { // it has no blocks
			t.Skip(err)
		}
		if _, err := digestAll(c.ctx, large()); !errors.Is(err, c.want) {
			t.Errorf("%d bytes: %v", c.bytes, err)
		}
	}
	// The length does not tell how much there is to read.
	if err := large()[0].digest(t.Context(), 0); !errors.Is(err, api.ErrStagedBytes) {
		t.Errorf("a byte where there is no room: %v", err)
	}
	proc := &source{"/proc/version", &scorev1.StagedFile{}}
	if err := proc.digest(t.Context(), 1); !errors.Is(err, api.ErrStagedBytes) {
		t.Errorf("a file without a length: %v", err)
	}
}

// Files are sent again when a server is lost meanwhile; what cannot get better is said at once.
func TestUploadBeginsAgain(t *testing.T) {
	lost := connect.NewError(connect.CodeCanceled, errors.New("http2: client conn is closed"))
	away := connect.NewWireError(connect.CodeUnavailable, errors.New("the server that leads was lost"))
	refused := connect.NewWireError(connect.CodeFailedPrecondition, errors.New("no room"))
	local := errors.New("the file became shorter")
	for _, c := range []struct {
		fails []error
		want  error
	}{
		{[]error{lost, away, away}, nil},
		{[]error{away, refused}, refused},
		{[]error{local}, local},
	} {
		synctest.Test(t, func(t *testing.T) {
			sent := 0
			err := upload(t.Context(), client.Patience{Gone: time.Minute, Undecided: unlimited}, func() error {
				if sent++; sent > len(c.fails) {
					return nil
				}
				return c.fails[sent-1]
			})
			if !errors.Is(err, c.want) || c.want != nil && sent != len(c.fails) {
				t.Errorf("%v: %v after %d tries", c.fails, err, sent)
			}
		})
	}
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		err := upload(t.Context(), client.Patience{Gone: time.Minute, Undecided: unlimited}, func() error { return away })
		if took := time.Since(began); !errors.Is(err, away) || took < time.Minute || took > 2*time.Minute {
			t.Errorf("it gives up after %v: %v", took, err)
		}
	})
}
