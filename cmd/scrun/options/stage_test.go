package options

import (
	"slices"
	"testing"
)

func TestStage(t *testing.T) {
	for _, test := range []struct {
		arguments []string
		stage     Stage
		files     []string
	}{
		{nil, StageNone, nil},
		{[]string{"--stage"}, StageUsual, nil},
		{[]string{"--stage=usual"}, StageUsual, nil},
		{[]string{"--stage=program"}, StageProgram, nil},
		{[]string{"--stage=all", "--stage-file", "a", "--stage-file=../b/c"}, StageAll, []string{"a", "../b/c"}},
		{[]string{"--stage=none"}, StageNone, nil},
	} {
		o, err := parse(t, append(test.arguments, "a.out")...)
		if err != nil || o.Stage != test.stage || !slices.Equal(o.StageFiles, test.files) || o.Stages() != (test.stage != StageNone || test.files != nil) {
			t.Errorf("%v: %+v, %v", test.arguments, o, err)
		}
	}
	for _, arguments := range [][]string{
		{"--stage=much"},
		{"--stage-file", ""},
		{"--stage-file", "/"},
		{"--stage-file", ".."},
		{"--stage-file", "x/lib"},
		{"--stage-file", "dir/"},
		{"--trace-start", "--detach"},
	} {
		if o, err := parse(t, append(arguments, "a.out")...); err == nil {
			t.Errorf("%v: %+v", arguments, o)
		}
	}
}
