package options

import "testing"

func TestChannels(t *testing.T) {
	for text, want := range map[string]Channels{
		"auto": {}, "0": {Given: true}, "1": {PerRank: 1, Given: true}, "15": {PerRank: 15, Given: true},
	} {
		if got, err := parseChannels(text); err != nil || got != want {
			t.Errorf("%q: %+v, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "16", "-1", "1.5", "AUTO", "99999999999999999999"} {
		if got, err := parseChannels(text); err == nil {
			t.Errorf("%q: %+v", text, got)
		}
	}
}

func TestWhere(t *testing.T) {
	o := &Options{Dir: "sub", Export: exportAll}
	dir, path := o.Where(Process{Dir: "/home/ada", Environ: []string{"A=1", "PATH=/bin:/usr/bin"}})
	if dir != "/home/ada/sub" || path != "/bin:/usr/bin" {
		t.Errorf("%q, %q", dir, path)
	}
	if dir, path = o.Where(Process{}); dir != "" || path != "" {
		t.Errorf("%q, %q", dir, path)
	}
}
