package daemon

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"score/cmd/scored/config"
	"score/nodeagent/steward/client"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
	"go.uber.org/zap"
	"golang.org/x/sys/unix"
)

func TestDivide(t *testing.T) {
	for name, test := range map[string]struct {
		nodes  int
		cpus   []int
		want   string
		shares bool
	}{
		"one":              {1, []int{0, 1}, "1 node on this machine: n1 (CPUs 0,1)", false},
		"evenly":           {2, []int{0, 1, 2, 3}, "2 nodes on this machine: n1 (CPUs 0,1), n2 (CPUs 2,3)", false},
		"unevenly":         {2, []int{4, 5, 7}, "2 nodes on this machine: n1 (CPU 4), n2 (CPUs 5,7)", false},
		"one each":         {2, []int{0, 1}, "2 nodes on this machine: n1 (CPU 0), n2 (CPU 1)", false},
		"more than enough": {3, []int{0, 1}, "3 nodes on this machine: n1 (CPU 0), n2 (CPU 1), n3 (CPU 0); there are more nodes than CPUs, so nodes share them, and their gangs disturb each other", true},
	} {
		t.Run(name, func(t *testing.T) {
			plan := divide(test.nodes, test.cpus, 1<<30)
			if got := describePlan(plan); got != test.want {
				t.Errorf("got %s\nwant %s", got, test.want)
			}
			seen := make(map[int]bool)
			for _, node := range plan {
				if node.shares != test.shares || node.memory != 1<<30/uint64(test.nodes) {
					t.Errorf("%+v", node)
				}
				for _, cpu := range node.cpus {
					if seen[cpu] && !test.shares {
						t.Errorf("CPU %d is given twice", cpu)
					}
					seen[cpu] = true
				}
			}
			if len(seen) != len(test.cpus) && !test.shares {
				t.Errorf("%d CPUs are used of %d", len(seen), len(test.cpus))
			}
		})
	}
}

func TestMachine(t *testing.T) {
	cpus, memory, err := machine()
	if err != nil || len(cpus) == 0 || memory < 1<<20 {
		t.Errorf("%v, %d bytes, %v", cpus, memory, err)
	}
}

func TestKeyFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "etc", "key")
	if _, err := loadKey(path); err == nil || !strings.Contains(err.Error(), "copy it from the server") {
		t.Errorf("a missing file: %v", err)
	}
	// Servers that start at once must end with one key.
	var starts sync.WaitGroup
	keys := make([]string, 8)
	for i := range keys {
		starts.Go(func() {
			err := makeKey(path)
			if err == nil {
				keys[i], err = loadKey(path)
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
	starts.Wait()
	for _, key := range keys {
		if key != keys[0] || len(key) < minKey {
			t.Errorf("keys %q and %q", key, keys[0])
		}
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	if left, _ := os.ReadDir(filepath.Dir(path)); len(left) != 1 {
		t.Errorf("left behind: %v", left)
	}
}

func TestBadKeyFiles(t *testing.T) {
	dir := t.TempDir()
	for name, test := range map[string]struct {
		text string
		mode os.FileMode
		want string
	}{
		"open":      {strings.Repeat("k", 26), 0o640, "others can read the key file PATH (mode 0640): chmod 600 it"},
		"empty":     {"", 0o600, "the key file PATH does not hold a key: one word of 16 letters and digits or more; remove it, and the server makes a new one"},
		"two words": {"abcdefghijklm nopqrstuvwxyz", 0o600, "the key file PATH does not hold a key: one word of 16 letters and digits or more; remove it, and the server makes a new one"},
		"endless":   {strings.Repeat("k", maxKey+1), 0o600, "the key file PATH does not hold a key: one word of 16 letters and digits or more; remove it, and the server makes a new one"},
	} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(test.text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, test.mode); err != nil {
			t.Fatal(err)
		}
		if _, err := loadKey(path); err == nil || strings.ReplaceAll(err.Error(), path, "PATH") != test.want {
			t.Errorf("%s:\n got %v\nwant %s", name, err, test.want)
		}
	}
	link, fifo := filepath.Join(dir, "link"), filepath.Join(dir, "fifo")
	if err := errors.Join(os.Symlink("open", link), unix.Mkfifo(fifo, 0o600)); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		link: "the key file PATH is a symbolic link, which is not followed: name the file itself",
		fifo: "the key file PATH is not a regular file", // it is not waited for
		dir:  "the key file PATH is not a regular file",
	} {
		if _, err := loadKey(path); err == nil || strings.ReplaceAll(err.Error(), path, "PATH") != want {
			t.Errorf("got %v\nwant %s", err, want)
		}
	}
}

func TestServerOptions(t *testing.T) {
	dir := t.TempDir()
	c := config.Default()
	c.Cluster.KeyFile = filepath.Join(dir, "key")
	c.Server.Socket = filepath.Join(dir, "run", "user.sock")
	options, err := serverOptions(c, zap.NewNop())
	if err != nil {
		t.Fatal(err)
	}
	if options.ClusterKey == "" || options.ClusterName != "score" || options.AgentListen != "127.0.0.1:7420" {
		t.Errorf("%+v", options)
	}
	s := options.Settings
	if s.GetSliceNanos() != 1e8 || s.GetMaxRows() != 8 || s.GetDefaultMemoryPerCpuBytes() != 0 {
		t.Errorf("settings %v", s)
	}
	if info, err := os.Stat(filepath.Dir(c.Server.Socket)); err != nil || !info.IsDir() {
		t.Errorf("the socket's directory: %v", err)
	}
}

func TestAgentOptions(t *testing.T) {
	dir := t.TempDir()
	c := config.Default()
	c.Cluster.KeyFile = filepath.Join(dir, "key")
	c.Agent.RunDir = filepath.Join(dir, "agents")
	if _, err := agentOptions(t.Context(), c, zap.NewNop()); err == nil {
		t.Error("an agent needs no key file")
	}
	if err := makeKey(c.Cluster.KeyFile); err != nil {
		t.Fatal(err)
	}
	c.Agent.Name, c.Agent.Memory, c.Agent.Cgroups, c.Agent.CPUs = "n7", "2G", config.CgroupsOff, []int{1}
	options, err := agentOptions(t.Context(), c, zap.NewNop())
	if err != nil {
		t.Fatal(err)
	}
	got := fmt.Sprint(options.Name, options.RunDir == filepath.Join(dir, "agents", "n7"), options.Servers, options.MemoryBytes,
		options.NoCgroups, options.CPUs, options.Grace, options.StewardExe == client.Self, options.EnableRealtime, options.PrivateShm, options.PrivateIPC)
	want := fmt.Sprint("n7", true, []string{"https://127.0.0.1:7420"}, uint64(2<<30), true, []int{1}, time.Minute, true, true, true, true)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	c.Agent.Name = ""
	if options, err := agentOptions(t.Context(), c, zap.NewNop()); err != nil || options.Name == "" {
		t.Errorf("without a name: %q, %v", options.Name, err)
	}
}

func TestAdviceForOrdinaryUsers(t *testing.T) {
	denied := &os.PathError{Op: "mkdir", Path: "/etc/score", Err: os.ErrPermission}
	run := func(*cobra.Command, []string) error { return denied }
	want := "mkdir /etc/score: permission denied; be root, or choose places of your own with --config; 'scored dev' needs neither"
	if err := advised(run, 1000)(nil, nil); !errors.Is(err, denied) || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
	if err := advised(run, 0)(nil, nil); err == nil || err.Error() != denied.Error() {
		t.Errorf("root: %v", err)
	}
}

func TestBadCommandLines(t *testing.T) {
	t.Setenv(configVariable, filepath.Join(t.TempDir(), "missing.toml"))
	for line, want := range map[string]string{
		"dev --nodes 0":  "--nodes 0: it must be between 1 and 64",
		"dev --nodes -1": "--nodes -1: it must be between 1 and 64",
		"dev --nodes 65": "--nodes 65: it must be between 1 and 64",
		"server":         "cannot read the configuration: open " + os.Getenv(configVariable) + ": no such file or directory",
		"agent":          "cannot read the configuration: open " + os.Getenv(configVariable) + ": no such file or directory",
		"join":           "name one token, or - to read it; 'scored token create' on a server prints one",
		"agent too many": "'agent' takes no arguments, and too is one; 'agent --help' explains it",
	} {
		arguments := strings.Fields(line)
		for _, command := range Commands() {
			if command.Name() != arguments[0] {
				continue
			}
			command.SilenceErrors, command.SilenceUsage = true, true
			command.SetArgs(arguments[1:])
			if err := command.Execute(); err == nil || err.Error() != want {
				t.Errorf("scored %s: %v, want %s", line, err, want)
			}
		}
	}
}
