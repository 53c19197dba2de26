package main

import (
	"os"
	"path/filepath"
	"score/cmd/scrun/options"
	"testing"
)

// TestOneRankHasNobodyToTalkTo: neither its program nor the cluster's nodes are looked at for what
// depends on neither. There is no cluster here that could be asked.
func TestOneRankHasNobodyToTalkTo(t *testing.T) {
	script := filepath.Join(t.TempDir(), "script")
	if err := os.WriteFile(script, []byte("#!/bin/sh\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, verbose := range []bool{false, true} {
		o := &options.Options{Argv: []string{script}, Tasks: 1, Verbose: verbose}
		found := <-inspectProgram(o, options.Here())
		if err := found.choose(t.Context(), o, nil); err != nil || found.choice.Use {
			t.Errorf("verbose %v: the choice is %+v, %v, want no channels", verbose, found.choice, err)
		}
		if looked := found.choice.Why != ""; looked != verbose {
			t.Errorf("verbose %v: the reason is %q", verbose, found.choice.Why)
		}
	}
}
