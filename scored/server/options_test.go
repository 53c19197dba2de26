package server

import (
	"errors"
	"score/scored/api/scorev1"
	"strings"
	"testing"
)

func TestOptions(t *testing.T) {
	tests := []struct {
		name   string
		change func(*Options)
		want   string // empty: fine
	}{
		{"good", func(*Options) {}, ""},
		{"localhost", func(o *Options) { o.AgentListen = "localhost:7420" }, ""},
		{"IPv6", func(o *Options) { o.AgentListen = "[::1]:7420" }, ""},
		{"socket for agents", func(o *Options) { o.AgentListen = "unix:/run/score/agents" }, ""},
		{"no cluster", func(o *Options) { o.ClusterName = "" }, `the cluster name ""`},
		{"odd cluster", func(o *Options) { o.ClusterName = "../etc" }, `the cluster name "../etc" may have up to 63 letters`},
		{"no key", func(o *Options) { o.ClusterKey = "" }, "the cluster key is empty; give every daemon the same key_file"},
		{"no version", func(o *Options) { o.Version = "" }, "the version is empty"},
		{"relative data", func(o *Options) { o.DataDir = "data" }, `data_dir = "data" must be an absolute path`},
		{"relative socket", func(o *Options) { o.UserSocket = "sock" }, `socket = "sock" must be an absolute path`},
		{"long socket", func(o *Options) { o.UserSocket = "/" + strings.Repeat("x", 200) }, "is longer than the 107 bytes"},
		{"no address", func(o *Options) { o.AgentListen = "" }, `agents_listen = "" is not host:port`},
		{
			"all interfaces",
			func(o *Options) { o.AgentListen = "0.0.0.0:7420" },
			`agents_listen = "0.0.0.0:7420" can be reached from other hosts, and without certificates connections are not encrypted; use 127.0.0.1 or another address of loopback, or make certificates with 'scored init'`,
		},
		{"no host", func(o *Options) { o.AgentListen = ":7420" }, "can be reached from other hosts"},
		{"other host", func(o *Options) { o.AgentListen = "example.org:7420" }, "can be reached from other hosts"},
		{"relative agents' socket", func(o *Options) { o.AgentListen = "unix:agents" }, `agents_listen = "agents" must be an absolute path`},
		{"empty agents' socket", func(o *Options) { o.AgentListen = "unix:" }, "agents_listen"},
		{"metrics for all", func(o *Options) { o.MetricsAddress = "[::]:9000" }, `metrics_listen = "[::]:9000" can be reached`},
		{"settings", func(o *Options) { o.Settings = &scorev1.Settings{} }, "a slice of 0s is not between 1ms and 1m0s"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			o := Options{AgentListen: "127.0.0.1:0", ClusterKey: "key", ClusterName: "lab", Version: "v1"}
			test.change(&o)
			_, err := o.withDefaults()
			if test.want == "" {
				if err != nil {
					t.Errorf("error %v", err)
				}
				return
			}
			if !errors.Is(err, ErrOptions) || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v\nwant %s", err, test.want)
			}
		})
	}
}
