package main

import "testing"

func TestEscapes(t *testing.T) {
	for _, test := range []struct {
		typed []string // what each read brings
		want  string
		ends  bool
	}{
		{[]string{"ls\r"}, "ls\r", false},
		{[]string{"~."}, "", true},
		{[]string{"~", "."}, "", true},
		{[]string{"ls\r~.more"}, "ls\r", true},
		{[]string{"ls ~."}, "ls ~.", false},
		{[]string{"~/bin\r"}, "~/bin\r", false},
		{[]string{"~", "~."}, "~.", false},
		{[]string{"~~~.\r~."}, "~~.\r", true},
		{[]string{"~\r~."}, "~\r", true},
		{[]string{"\n", "~", "x~."}, "\n~x~.", false},
	} {
		var e escapes
		got, ended := "", false
		for _, typed := range test.typed {
			input, end := e.feed([]byte(typed))
			got, ended = got+string(input), ended || end
		}
		if got != test.want || ended != test.ends {
			t.Errorf("%q: %q to the program, ends %v; want %q, %v", test.typed, got, ended, test.want, test.ends)
		}
	}
}
