package options

import "testing"

func FuzzParsers(f *testing.F) {
	for _, seed := range []string{"n[01-10,12]", "A=b,ALL,C", "%t-%N%%"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if hosts, err := parseHosts(text); err == nil && (len(hosts) < 1 || len(hosts) > maxHosts) {
			t.Errorf("parseHosts(%q) has %d", text, len(hosts))
		}
		if export, err := parseExport(text); err == nil {
			export.Apply([]string{"A=1", "PATH=/bin", text})
		}
	})
}
