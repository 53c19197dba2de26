package main

import (
	"strings"
	"testing"
)

func TestDescriptorHint(t *testing.T) {
	for argument, warns := range map[string]bool{
		"/dev/fd/63":          true,
		"/proc/self/fd/3":     true,
		"/dev/fd/12":          true,
		"/dev/fd/0":           false,
		"/proc/self/fd/2":     false,
		"/dev/fd/":            false,
		"/dev/fd/x":           false,
		"/dev/fd/6/x":         false,
		"/tmp/dev/fd/63":      false,
		"-f=/dev/fd/63":       false,
		"/proc/12/fd/63":      false,
		"/dev/stdin":          false,
		"/proc/self/fdinfo/4": false,
	} {
		hint := descriptorHint([]string{"cat", argument})
		if (hint != "") != warns || warns && !strings.HasPrefix(hint, argument+" is open here") {
			t.Errorf("%s: %q", argument, hint)
		}
	}
}
