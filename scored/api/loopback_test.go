package api

import (
	"strings"
	"testing"
)

func TestCheckLoopback(t *testing.T) {
	for address, want := range map[string]string{
		"127.0.0.1:0":         "",
		"127.7.4.20:7420":     "",
		"[::1]:7420":          "",
		"localhost:7420":      "",
		"127.8.9.1:0":         "",
		"127.0.0.1":           "is not host:port",
		"":                    "is not host:port",
		":7420":               "can be reached from other hosts",
		"0.0.0.0:7420":        "can be reached from other hosts",
		"[::]:7420":           "can be reached from other hosts",
		"192.0.2.1:7420":      "can be reached from other hosts",
		"localhost.evil:7420": "can be reached from other hosts",
	} {
		err := CheckLoopback(address)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", address, err, want)
		}
	}
}
