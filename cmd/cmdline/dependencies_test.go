package cmdline

import (
	"strings"
	"testing"
)

func TestDependencies(t *testing.T) {
	for text, want := range map[string]string{
		"afterok:7": "", "after:1:2,afterany:3,afternotok:4,afterok:5": "",
		"afterok:7:7,afterok:7": "afterok:7",
	} {
		all, err := ParseDependencies(text)
		if want == "" {
			want = text
		}
		if got := FormatDependencies(all); err != nil || got != want {
			t.Errorf("%s: %q, %v", text, got, err)
		}
	}
	for text, want := range map[string]string{
		"": `"" is not after`, "7": `"7" is not after`, "singleton": `"singleton" is not after`, "afterok": `"afterok" is not after`,
		"afterok:": `"afterok:" is not after`, "afterok:0": `"0" is not a job number`, "after:7+5": `"7+5" is not a job number`,
		"afterok:7,": `"" is not after`, "afterok:7?afterok:8": "put commas", "afterok:7,afternotok:7": "job 7 is named twice",
	} {
		if _, err := ParseDependencies(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
}
