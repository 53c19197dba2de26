package hardware

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"
)

const topology = "<?xml version=\"1.0\"?>\n<topology version=\"2.0\"/></topology>\n"

// node is an agent with a Description; lstopo is a script.
type node struct {
	*Description
	path string
	runs string // a file with a line for each run of lstopo
	log  *observer.ObservedLogs
	stop context.CancelFunc
	work sync.WaitGroup
}

func newNode(t *testing.T, lstopo string) *node {
	t.Helper()
	dir := t.TempDir()
	n := &node{path: filepath.Join(dir, "hardware.xml"), runs: filepath.Join(dir, "runs")}
	if lstopo != "" {
		script := "#!/bin/sh\nPATH=/bin:/usr/bin\necho \"$*\" >> " + n.runs + "\n" + lstopo + "\n"
		if err := os.WriteFile(filepath.Join(dir, programs[1]), []byte(script), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", dir)
	ctx, stop := context.WithCancel(t.Context())
	core, log := observer.New(zap.InfoLevel)
	n.log, n.stop = log, stop
	n.Description = New(Options{Path: n.path, Go: n.work.Go, Running: ctx, Logger: zap.New(core)})
	t.Cleanup(func() { stop(); n.work.Wait() })
	return n
}

func (n *node) count(t *testing.T) int {
	t.Helper()
	text, err := os.ReadFile(n.runs)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return strings.Count(string(text), "--of xml\n")
}

func TestDescription(t *testing.T) {
	t.Setenv("HWLOC_SYNTHETIC", "pack:8")
	n := newNode(t, `[ -z "$HWLOC_SYNTHETIC" ] && printf '`+strings.ReplaceAll(topology, "\n", `\n`)+`'`)
	if n.Path() != "" {
		t.Error("a path before there is a file")
	}
	n.Want()
	n.work.Wait()
	if n.Path() != n.path {
		t.Fatalf("path %q; %v", n.Path(), n.log.All())
	}
	text, err := os.ReadFile(n.path)
	if err != nil || string(text) != topology {
		t.Errorf("%q, %v", text, err)
	}
	if info, err := os.Stat(n.path); err != nil || info.Mode() != 0o644 {
		t.Errorf("%v, %v", info, err)
	}
	n.online = "0-4095\n" // as it was then
	if n.Path() != "" {
		t.Error("the file of other CPUs is used")
	}
	n.Want()
	n.work.Wait()
	if n.Path() != n.path || n.count(t) != 2 {
		t.Errorf("path %q after %d runs", n.Path(), n.count(t))
	}
}

func TestNoDescription(t *testing.T) {
	for name, test := range map[string]struct{ lstopo, says string }{
		"fails":            {"echo no such thing >&2; echo more >&2; exit 3", "exit status 3 (no such thing)"},
		"writes something": {"echo Machine", errNoTopology.Error()},
		"is cut off":       {"echo '<?xml><topology>'", errNoTopology.Error()},
		"writes much":      {"echo '<?xml>'; dd if=/dev/zero bs=1M count=9 2>/dev/null; echo '</topology>'", errTooLong.Error()},
		"is not there":     {"", "install hwloc-nox"},
	} {
		t.Run(name, func(t *testing.T) {
			n := newNode(t, test.lstopo)
			n.Want()
			n.work.Wait()
			runs := n.count(t)
			n.Want() // soon after
			n.work.Wait()
			if n.count(t) != runs {
				t.Error("it tries again at once")
			}
			left, err := filepath.Glob(n.path + "*")
			if n.Path() != "" || err != nil || len(left) > 0 {
				t.Errorf("path %q, files %v, %v", n.Path(), left, err)
			}
			if said := n.log.TakeAll(); len(said) != 1 || !strings.Contains(said[0].Message+fmt.Sprint(said[0].ContextMap()), test.says) {
				t.Errorf("%v", said)
			}
		})
	}
}

func TestStopEndsLstopo(t *testing.T) {
	n := newNode(t, "exec sleep 1000")
	n.Want()
	begun := time.Now()
	n.stop()
	n.work.Wait()
	if waited := time.Since(begun); waited > lstopoTimeout/2 || n.log.Len() != 0 {
		t.Errorf("after %v: %v", waited, n.log.All())
	}
}
