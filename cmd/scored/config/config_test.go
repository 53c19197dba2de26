package config

import (
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
)

func TestDefaultIsValid(t *testing.T) {
	config, err := parse("empty", nil)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(Default(), config); diff != "" {
		t.Errorf("an empty file (-defaults +got):\n%s", diff)
	}
}

// The example must read as the defaults, as it stands and with every key
// uncommented, and must hold every key.
func TestExample(t *testing.T) {
	text, err := Example()
	if err != nil {
		t.Fatal(err)
	}
	for name, variant := range map[string]string{
		"as it stands": text,
		"uncommented":  uncomment(text),
	} {
		config, err := parse("example", []byte(variant))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if diff := cmp.Diff(Default(), config); diff != "" {
			t.Errorf("%s (-defaults +got):\n%s", name, diff)
		}
	}
}

// uncomment makes keys of the lines that begin with a # and no space.
func uncomment(text string) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if strings.HasPrefix(line, "#") && !strings.HasPrefix(line, "# ") {
			lines[i] = line[1:]
		}
	}
	return strings.Join(lines, "\n")
}

func TestEveryFieldIsExplained(t *testing.T) {
	var walk func(reflect.Type)
	walk = func(of reflect.Type) {
		for i := range of.NumField() {
			field := of.Field(i)
			if field.Tag.Get("toml") == "" || field.Tag.Get("comment") == "" {
				t.Errorf("%s.%s has no key or no comment", of.Name(), field.Name)
			}
			if field.Type.Kind() == reflect.Struct {
				walk(field.Type)
			}
		}
	}
	walk(reflect.TypeOf(Config{}))
}

func TestFile(t *testing.T) {
	config, err := parse("score.toml", []byte(`
cluster.name = "lab"

[agent]
name = "n1"
cpus = [2, 3]
memory = "4G"
cgroups = "off"
`))
	if err != nil {
		t.Fatal(err)
	}
	want := Default()
	want.Cluster.Name = "lab"
	want.Agent.Name, want.Agent.CPUs, want.Agent.Memory, want.Agent.Cgroups = "n1", CPUList{2, 3}, "4G", "off"
	if diff := cmp.Diff(want, config); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestErrors(t *testing.T) {
	for text, want := range map[string]string{
		"[agent]\nnam = \"n1\"":                        `f:2: agent.nam: unknown key; did you mean agent.name?`,
		"[agnet]\nname = \"n1\"":                       `f:1: agnet: unknown key; did you mean agent?`,
		"[agent]\ncolour = \"blue\"":                   `f:2: agent.colour: unknown key`,
		"[agent]\n\nname = 3":                          `f:3: agent.name: it is a text in quotes, not an integer`,
		"[agent]\nrealtime = \"on\"":                   `f:2: agent.realtime: it is true or false, not a string`,
		"[agent]\ncpus = \"0-a\"":                      `f:2: agent.cpus: "0-a": write CPUs as in "1-3,8" or [1, 2, 3, 8]`,
		"[agent]\ncpus = \"3-1\"":                      `f:2: agent.cpus: "3-1": write CPUs as in "1-3,8" or [1, 2, 3, 8]`,
		"[agent]\ncpus = \"0-9999999999\"":             `f:2: agent.cpus: "0-9999999999": write CPUs as in "1-3,8" or [1, 2, 3, 8]`,
		"[agent]\ncpus = \"0-2,1\"":                    `f:2: agent.cpus: CPU 1 is named twice`,
		"[agent]\ncpus = \"\"":                         `f:2: agent.cpus: "": write CPUs as in "1-3,8" or [1, 2, 3, 8]`,
		"[agent]\nname = n1":                           `f:2: agent.name: write texts in quotes`,
		"[agent]\nlisten = 127.0.0.1:7421 # mine":      `f:2: agent.listen: write texts in quotes`,
		"[agent]\nrun_dir = /run/score":                `f:2: agent.run_dir: write texts in quotes`,
		"[agent]\ngrace = 10s":                         `f:2: agent.grace: write texts in quotes`,
		"[agent]\nname = \"n1\nmemory = \"4G\"":        `f:2: agent.name: the text has no closing quote`,
		"[agent]\nname =\nmemory = \"4G\"":             `f:2: agent.name: it has no value`,
		"[agent]\ncpus = [\"0\"]":                      `f:2: agent.cpus: it is a whole number, not a string`,
		"[agent\nname = 3":                             `f:1: expected ']' to close table name`,
		"name":                                         `f:1: expected '=' after key`,
		"[agent]\nname = \"a\"\nname = \"b\"":          `f:3: agent.name: it is set twice`,
		"[cluster]\nname = \"my cluster\"":             `f:2: cluster.name: "my cluster" may have up to 63 letters, digits, - and _`,
		"cluster.name = \"\"":                          `f:1: cluster.name: "" may have up to 63 letters, digits, - and _`,
		"[cluster]\nkey_file = \"key\"":                `f:2: cluster.key_file: "key" must be an absolute path`,
		"[server]\n# x\nagents_listen = \"0.0.0.0:1\"": `f:3: server.agents_listen: "0.0.0.0:1" can be reached from other hosts, and without certificates connections are not encrypted; use 127.0.0.1 or another address of loopback, or make certificates with 'scored init'`,
		"[server]\nadvertise = \"host:99999\"":         `f:2: server.advertise: "host:99999" is not host:port that others can reach`,
		"[agent]\nlisten = \"127.0.0.1:65536\"":        `f:2: agent.listen: "127.0.0.1:65536" is not host:port`,
		"[agent]\nservers = [\"127.0.0.1:-1\"]":        `f:2: agent.servers: "127.0.0.1:-1" is not host:port`,
		"[server]\nmetrics_listen = \"::1:http\"":      `f:2: server.metrics_listen: "::1:http" is not host:port`,
		"[server]\nagents_listen = \"host\"":           `f:2: server.agents_listen: "host" is not host:port`,
		"[server]\nslice = \"1\"":                      `f:2: server.slice: "1" is not a time with a unit, such as 100ms or 60s`,
		"[server]\nslice = \"1us\"":                    `f:2: server.slice: 1µs is not between 1ms and 1m0s`,
		"[server]\nmax_rows = 0":                       `f:2: server.max_rows: 0 is not between 1 and 64`,
		"[server]\nmemory_per_cpu = \"0\"":             `f:2: server.memory_per_cpu: it must be at least 1K`,
		"[agent]\nservers = []":                        `f:2: agent.servers: name at least one server`,
		"[agent]\nservers = [\"10.0.0.1:7420\"]":       `f:2: agent.servers: "10.0.0.1:7420" can be reached from other hosts, and without certificates connections are not encrypted; use 127.0.0.1 or another address of loopback, or make certificates with 'scored init'`,
		"[agent]\ncpus = [0, 1, 0]":                    `f:2: agent.cpus: CPU 0 is named twice`,
		"[agent]\ncpus = [-1]":                         `f:2: agent.cpus: there is no CPU -1`,
		"[agent]\nmemory = \"lots\"":                   `f:2: agent.memory: write a whole number with K, M, G or T after it (M without one)`,
		"[agent]\nchannels = -1":                       `f:2: agent.channels: -1 is not between 0 and 1024`,
		"[agent]\ncgroups = \"yes\"":                   `f:2: agent.cgroups: it is auto or off, not "yes"`,
		"[agent]\nwarm_stewards = 1000":                `f:2: agent.warm_stewards: 1000 is not between 1 and 64`,
		"[agent]\ngrace = \"-1s\"":                     `f:2: agent.grace: -1s is not between 0s and 24h0m0s`,
		"[log]\nlevel = \"loud\"":                      `f:2: log.level: it is debug, info, warn or error, not "loud"`,
	} {
		if _, err := parse("f", []byte(text)); err == nil || err.Error() != want {
			t.Errorf("%q:\n got %v\nwant %s", text, err, want)
		}
	}
}

func TestCPUList(t *testing.T) {
	for text, want := range map[string]CPUList{
		`"1-3,8"`: {1, 2, 3, 8}, `"0, 2-3"`: {0, 2, 3}, `"5"`: {5}, `3`: {3}, `[1, 0]`: {1, 0}, `[]`: {},
	} {
		config, err := parse("f", []byte("[agent]\ncpus = "+text))
		if err != nil || !slices.Equal(config.Agent.CPUs, want) {
			t.Errorf("%s: %v, %v; want %v", text, config.Agent.CPUs, err, want)
		}
	}
}

func TestLoad(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "score.toml")
	if _, err := Load(path); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("a missing file: %v", err)
	}
	if err := os.WriteFile(path, []byte("[log]\nlevel = \"debug\"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	config, err := Load(path)
	if err != nil || config.Log.Level != "debug" {
		t.Errorf("got %+v, %v", config.Log, err)
	}
	if err := os.WriteFile(path, make([]byte, maxFile+1), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(path); err == nil {
		t.Error("a file without end was read")
	}
}

// TestLoadOfNoFile: a pipe without a writer does not keep a daemon waiting.
func TestLoadOfNoFile(t *testing.T) {
	dir := t.TempDir()
	pipe := filepath.Join(dir, "pipe")
	if err := unix.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{dir: "is a directory; name a file", pipe: "is a pipe, "} {
		if _, err := Load(path); err == nil || !strings.Contains(err.Error(), path+" "+want) {
			t.Errorf("%v, want %q", err, want)
		}
		if Unset(path) {
			t.Errorf("%s may be replaced", path)
		}
	}
}

func TestUnset(t *testing.T) {
	dir := t.TempDir()
	example, err := Example()
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		text string
		want bool
	}{
		"empty":        {"", true},
		"the example":  {example, true},
		"a section":    {"[agent]\n[log]\n", true},
		"a key":        {"[log]\nlevel = \"info\"\n", false},
		"another text": {"hello", false},
		"a stray key":  {"level = 1", false},
		"a list":       {"[[agent]]\n", false},
	} {
		path := filepath.Join(dir, "f")
		if err := os.WriteFile(path, []byte(test.text), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := Unset(path); got != test.want {
			t.Errorf("%s: %v", name, got)
		}
	}
	if !Unset(filepath.Join(dir, "none")) {
		t.Error("a file that is not there")
	}
}

func TestChanges(t *testing.T) {
	was, is := Default(), Default()
	if got := Changes(was, is); got != nil {
		t.Errorf("nothing: %v", got)
	}
	is.Log.Level, is.Agent.CPUs, is.Cluster.Name = "debug", CPUList{3}, "other"
	want := []string{"cluster.name", "agent.cpus", "log.level"}
	if got := Changes(was, is); !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func FuzzParse(f *testing.F) {
	text, err := Example()
	if err != nil {
		f.Fatal(err)
	}
	f.Add([]byte(text))
	f.Add([]byte(uncomment(text)))
	f.Add([]byte("agent = {name = \"x y\"}"))
	f.Add([]byte("[[agent]]\nname = 1"))
	f.Fuzz(func(t *testing.T, text []byte) {
		config, err := parse("f", text)
		if err != nil && strings.ContainsAny(err.Error(), "\n") {
			t.Errorf("an error of several lines: %q", err)
		}
		if err == nil && config.check() != nil {
			t.Error("a file with a problem was accepted")
		}
	})
}

// An earlier version refuses keys that it does not know.
func TestWriteLeavesOutDefaults(t *testing.T) {
	c := Default()
	c.Agent.RunDir = `/run/a 'quoted' "d\ir"`
	c.Agent.PrivateShm = false
	path := filepath.Join(t.TempDir(), "c.toml")
	if err := Write(path, c); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil || strings.Count(string(text), "=") != 2 {
		t.Errorf("%s, %v", text, err)
	}
	if got, err := Load(path); err != nil || !reflect.DeepEqual(got, c) {
		t.Errorf("%+v, %v", got, err)
	}
}

// TOML is UTF-8: a path that is not would come out as another one.
func TestWriteOfBytes(t *testing.T) {
	c := Default()
	c.Agent.RunDir = "/run/d\xff"
	path := filepath.Join(t.TempDir(), "c.toml")
	if err := Write(path, c); err == nil || err.Error() != `agent.run_dir "/run/d\xff" would not be UTF-8, as all of a configuration file is` {
		t.Error(err)
	}
}
