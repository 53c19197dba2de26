package options

import "testing"

func FuzzParsers(f *testing.F) {
	for _, seed := range []string{"A=b,ALL,C", "%t-%N%%"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if export, err := parseExport(text); err == nil {
			export.Apply([]string{"A=1", "PATH=/bin", text})
		}
	})
}
