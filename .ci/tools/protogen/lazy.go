package main

import (
	"fmt"
	"regexp"
	"strings"
)

// lazyRule is a change of generated code.
type lazyRule struct {
	pattern *regexp.Regexp
	with    string
	needed  bool // it applies to every file
}

var (
	// lazyMessages are the places where code of protoc-gen-go registers messages, or uses what is
	// registered. The descriptions of files become functions, so that no program can use one too
	// early.
	lazyMessages = []lazyRule{
		{regexp.MustCompile(`(?m)^func init\(\) \{ file_\w+_init\(\) \}\n`), "", true},
		{regexp.MustCompile(`(?m)^\tmi := &file_`), "\tregister()\n$0", true},
		{regexp.MustCompile(`(?m)^\treturn &?file_\w+_enumTypes\[`), "\tregister()\n$0", false},
		{regexp.MustCompile(`\bFile_\w+_proto\b`), "described$0", true},
		{
			regexp.MustCompile(`(?m)^var described(File_\w+) protoreflect\.FileDescriptor\n`),
			"$0\n// $1 returns the description of the file.\n" +
				"func $1() protoreflect.FileDescriptor {\n\tregister()\n\treturn described$1\n}\n",
			true,
		},
		// Memory of an array is used when it is written.
		{regexp.MustCompile(`(?m)^var (file_\w+_msgTypes) = make\(\[\](protoimpl\.MessageInfo), (\d+)\)`), "var $1 [$3]$2", true},
		{regexp.MustCompile(`(?m)^(\t\tMessageInfos: +file_\w+_msgTypes),`), "$1[:],", true},
	}
	// lazyServices are those places in code of protoc-gen-connect-go.
	lazyServices = []lazyRule{{regexp.MustCompile(`\bFile_\w+_proto\b`), "$0()", true}}
)

// makeLazy makes generated code register its messages with the protobuf runtime when a program first
// needs that, and not when it starts. The package has a function register for this.
func makeLazy(name, content string) (string, error) {
	rules := lazyMessages
	if strings.HasSuffix(name, ".connect.go") {
		rules = lazyServices
	}
	for _, rule := range rules {
		if rule.needed && !rule.pattern.MatchString(content) {
			return "", fmt.Errorf("%s: the plugin generates other code than expected: nothing matches %v", name, rule.pattern)
		}
		content = rule.pattern.ReplaceAllString(content, rule.with)
	}
	return content, nil
}
