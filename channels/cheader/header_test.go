package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

const committed = "../score_channel.h"

func TestHeaderIsCurrent(t *testing.T) {
	got, err := os.ReadFile(committed)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, []byte(header())) {
		t.Fatal("score_channel.h is not what the types of package abi give: run go generate ./channels")
	}
}

// TestHeaderCompiles has the C compilers there are check the layout.
func TestHeaderCompiles(t *testing.T) {
	cc, err := exec.LookPath("cc")
	if err != nil {
		t.Skip("no C compiler")
	}
	path, err := filepath.Abs(committed)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(cc, "-std=c11", "-Wall", "-Wextra", "-Werror", "-pedantic", "-fsyntax-only", "-x", "c", path)
	if text, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
}

func TestSnakeCase(t *testing.T) {
	for in, want := range map[string]string{"LaneBytes": "lane_bytes", "Pid": "pid", "SharedAt": "shared_at", "MaxMessage": "max_message"} {
		if got := snakeCase(in); got != want {
			t.Errorf("%s: %s", in, got)
		}
	}
}
