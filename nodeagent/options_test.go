package nodeagent

import (
	"errors"
	"strings"
	"testing"
	"time"
)

func good() Options {
	return Options{
		Name: "n1", Cluster: "lab", RunDir: "/run/score/n1", Servers: []string{"https://127.0.0.1:1"},
		ClusterKey: "key", Listen: "127.0.0.1:0", StewardExe: "/usr/bin/scored",
	}
}

func TestOptionsAreChecked(t *testing.T) {
	for _, test := range []struct {
		name   string
		change func(*Options)
		says   string
	}{
		{"no name", func(o *Options) { o.Name = "" }, "node name"},
		{"name with a slash", func(o *Options) { o.Name = "a/b" }, "node name"},
		{"name too long", func(o *Options) { o.Name = strings.Repeat("a", 64) }, "node name"},
		{"no cluster", func(o *Options) { o.Cluster = "" }, "cluster name"},
		{"relative directory", func(o *Options) { o.RunDir = "run" }, "absolute"},
		{"long directory", func(o *Options) { o.RunDir = "/" + strings.Repeat("a", 80) }, "shorter"},
		{"no server", func(o *Options) { o.Servers = nil }, "servers"},
		{"no key", func(o *Options) { o.ClusterKey = "" }, "key_file"},
		{"relative steward", func(o *Options) { o.StewardExe = "scored" }, "steward program"},
		{"too many channels", func(o *Options) { o.Channels = 1025 }, "channels = 1025"},
		{"negative channels", func(o *Options) { o.Channels = -1 }, "channels = -1"},
		{"too many stewards", func(o *Options) { o.WarmStewards = 65 }, "warm_stewards"},
		{"negative stewards", func(o *Options) { o.WarmStewards = -1 }, "warm_stewards"},
		{"negative grace", func(o *Options) { o.Grace = -time.Second }, "negative"},
		{"negative CPU", func(o *Options) { o.CPUs = []int{-1} }, "no CPU -1"},
		{"CPU beyond", func(o *Options) { o.CPUs = []int{MaxNodeCPUs} }, "no CPU"},
		{"CPU twice", func(o *Options) { o.CPUs = []int{3, 3} }, "twice"},
		{"no address", func(o *Options) { o.Listen = "" }, `listen = ""`},
		{"every address", func(o *Options) { o.Listen = ":7421" }, "other hosts"},
		{"address of the host", func(o *Options) { o.Listen = "10.0.0.1:7421" }, "other hosts"},
		{"name of another host", func(o *Options) { o.Listen = "example.org:1" }, "other hosts"},
		{"metrics for everybody", func(o *Options) { o.MetricsAddress = "0.0.0.0:9100" }, "metrics_listen"},
	} {
		t.Run(test.name, func(t *testing.T) {
			o := good()
			test.change(&o)
			_, err := New(o)
			if !errors.Is(err, ErrOptions) || !strings.Contains(err.Error(), test.says) {
				t.Errorf("New = %v", err)
			}
			if err != nil && strings.Contains(err.Error(), "\n") {
				t.Errorf("more than one line: %q", err)
			}
		})
	}
}

func TestDefaults(t *testing.T) {
	a, err := New(good())
	if err != nil {
		t.Fatal(err)
	}
	o := a.options
	if len(o.CPUs) == 0 || len(a.cpuIDs) != len(o.CPUs) || o.MemoryBytes < 1<<20 || o.WarmStewards != DefaultWarmStewards || o.Logger == nil {
		t.Errorf("options: %+v", o)
	}
}

// TestDefaultChannels: a rank on each CPU has a channel.
func TestDefaultChannels(t *testing.T) {
	for cpus, want := range map[int]int{1: DefaultChannels, DefaultChannels: DefaultChannels, 64: 64, 2 * MaxChannels: MaxChannels} {
		o := good()
		for i := range cpus {
			o.CPUs = append(o.CPUs, i)
		}
		o, err := o.withDefaults()
		if err != nil || o.Channels != want {
			t.Errorf("%d CPUs: %d channels, %v; want %d", cpus, o.Channels, err, want)
		}
	}
}

func TestNoteLoopback(t *testing.T) {
	for _, test := range []struct {
		name, address string
		servers       []string
		noted         bool
	}{
		{"all on loopback", "127.0.0.1:7421", []string{"https://127.0.0.1:1", "http://localhost:2"}, false},
		{"a server elsewhere", "127.0.0.1:7421", []string{"https://127.0.0.1:1", "https://10.0.0.1:1"}, true},
		{"a server by name", "[::1]:7421", []string{"https://head:1"}, true},
		{"reached", "10.0.0.2:7421", []string{"https://10.0.0.1:1"}, false},
	} {
		a := Agent{options: Options{Servers: test.servers}, address: test.address}
		if a.noteLoopback(); (len(a.notes) == 1) != test.noted {
			t.Errorf("%s: %q", test.name, a.notes)
		}
	}
}
