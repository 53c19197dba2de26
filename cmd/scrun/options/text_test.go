package options

import "testing"

func TestTextsAreUTF8(t *testing.T) {
	const odd = "g\xfcnstig"
	for name, test := range map[string]struct {
		arguments []string
		here      Process
		want      string // "": none
	}{
		"UTF-8":     {[]string{"prog", "g\u00fcnstig"}, Process{Dir: "/home/\u00fc", Environ: []string{"A=\u00fc"}}, ""},
		"program":   {[]string{odd}, Process{Dir: "/"}, `the program's name "g\xfcnstig" is not UTF-8, and the cluster takes no other: rename the program`},
		"argument":  {[]string{"prog", "a", odd}, Process{Dir: "/"}, `argument 2, "g\xfcnstig", is not UTF-8, and the cluster takes no other: give it to the program in a file or by its input`},
		"directory": {[]string{"prog"}, Process{Dir: "/" + odd}, `the directory "/g\xfcnstig" is not UTF-8, and the cluster takes no other: choose another one with -D`},
		"other":     {[]string{"-D", "/", "prog"}, Process{Dir: "/" + odd}, ""},
		"variable":  {[]string{"prog"}, Process{Dir: "/", Environ: []string{"A=1", "B=" + odd}}, `the environment variable "B" is not UTF-8, and the cluster takes no other: unset it, or leave it out with --export`},
		"left out":  {[]string{"--export", "A", "prog"}, Process{Dir: "/", Environ: []string{"A=1", "B=" + odd}}, ""},
	} {
		o, err := parse(t, test.arguments...)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		got := ""
		if _, err := o.Spec(test.here); err != nil {
			got = err.Error()
		}
		if got != test.want {
			t.Errorf("%s: got %q, want %q", name, got, test.want)
		}
	}
}
