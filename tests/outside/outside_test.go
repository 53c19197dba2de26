// Package outside builds a program that is not part of this repository, as docs/channels.md tells
// people to.
package outside

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

const program = `package main

import (
	"fmt"

	"score/pm"
)

func main() {
	ch, err := pm.Open(1)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer ch.Close()
	fmt.Println("rank", ch.Rank(), "of", ch.Size())
}
`

func TestProgramOutside(t *testing.T) {
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	sums, err := os.ReadFile(filepath.Join(root, "go.sum"))
	if err != nil {
		t.Fatal(err)
	}
	module := fmt.Sprintf("module example.org/hello\n\ngo 1.26.8\n\nrequire score v0.0.0\n\nreplace score => %s\n", root)
	for name, text := range map[string]string{"go.mod": module, "main.go": program, "go.sum": string(sums)} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	build := exec.CommandContext(t.Context(), "go", "build", "-mod=mod", ".")
	build.Dir = dir
	build.Env = append(os.Environ(), "GOPROXY=off", "GOFLAGS=") // what it needs was fetched with this repository
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}
