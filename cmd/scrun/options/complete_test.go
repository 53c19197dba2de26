package options

import (
	"bytes"
	"strings"
	"testing"
)

// Each word that is offered for a flag is one that the flag takes.
func TestFlagWords(t *testing.T) {
	for flag, words := range flagWords {
		var out bytes.Buffer
		command := Command(func(*Options) error { return nil })
		command.SetOut(&out)
		command.SetErr(new(bytes.Buffer))
		command.SetArgs([]string{"__complete", "--" + flag + "="})
		if err := command.Execute(); err != nil || !strings.HasPrefix(out.String(), strings.Join(words, "\n")+"\n:4\n") {
			t.Errorf("--%s <TAB>: %v, %q", flag, err, out.String())
		}
		for _, word := range words {
			if _, err := parse(t, "--"+flag+"="+word, "prog"); err != nil {
				t.Errorf("--%s=%s: %v", flag, word, err)
			}
		}
	}
}
