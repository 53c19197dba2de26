package cli

import (
	"score/scored/api/scorev1"
	"score/scored/leader"
	"slices"
	"testing"

	"github.com/spf13/cobra"
)

// TestEverySettingIsInTheTable: each field of the message can be shown and set, within the
// bounds of the server, and takes the words that are offered for it.
func TestEverySettingIsInTheTable(t *testing.T) {
	fields := new(scorev1.Settings).ProtoReflect().Descriptor().Fields()
	for i := range fields.Len() {
		name := string(fields.Get(i).Name())
		if !slices.ContainsFunc(settings, func(s setting) bool { return s.field == name }) {
			t.Errorf("%s cannot be set", name)
		}
	}
	if fields.Len() != len(settings) {
		t.Errorf("%d fields, %d settings", fields.Len(), len(settings))
	}
	for _, one := range settings {
		for _, word := range one.words {
			values := new(scorev1.Settings)
			if err := one.read(values, word); err != nil || one.show(values) != word {
				t.Errorf("%s %s: %v, shown as %s", one.key, word, err, one.show(values))
			}
		}
	}
}

// TestBoundsAreTheServers: what passes here passes there, and what is just beyond does not.
func TestBoundsAreTheServers(t *testing.T) {
	for key, texts := range map[string][2][]string{
		"slice":           {{"1ms", "1m"}, {"999us", "61s", "0s", "-1s"}},
		"max_rows":        {{"1", "64"}, {"0", "65", "-1", "99999999999"}},
		"memory_per_cpu":  {{"1", "512M", "share"}, {"2000000T", "0", "much"}},
		"age_per_point":   {{"100ms", "1h"}, {"99ms", "61m"}},
		"weight_step":     {{"1", "1000000"}, {"0", "1000001"}},
		"usage_half_life": {{"1m", "8784h"}, {"59s", "8785h"}},
		"max_processes":   {{"16", "4194304", "default"}, {"15", "4194305"}},
		"node_silence":    {{"1s", "1h"}, {"999ms", "61m"}},
		"kill_wait":       {{"100ms", "1h", "default"}, {"99ms", "61m"}},
		"fair_share":      {{"0", "100000"}, {"100001"}},
	} {
		one, err := findSetting(key)
		if err != nil {
			t.Fatal(err)
		}
		for _, text := range texts[0] {
			values := &scorev1.Settings{SliceNanos: 1e8, MaxRows: 8}
			if err := one.read(values, text); err != nil {
				t.Errorf("%s %s: %v", key, text, err)
			}
			if err := leader.CheckSettings(values); err != nil {
				t.Errorf("%s %s: the server refuses it: %v", key, text, err)
			}
		}
		for _, text := range texts[1] {
			if err := one.read(new(scorev1.Settings), text); err == nil {
				t.Errorf("%s %s: taken", key, text)
			}
		}
	}
}

func TestCompleteSettings(t *testing.T) {
	names, _ := completeSettingAndValue(nil, nil, "")
	if len(names) != len(settings) {
		t.Errorf("offered %v", names)
	}
	words, directive := completeSettingAndValue(nil, []string{"fair_share"}, "")
	if len(words) != 1 || directive != cobra.ShellCompDirectiveNoFileComp {
		t.Errorf("offered %v, %v", words, directive)
	}
	for _, arguments := range [][]string{{"slice"}, {"nothing"}, {"fair_share", "7"}} {
		if words, _ := completeSettingAndValue(nil, arguments, ""); len(words) > 0 {
			t.Errorf("after %v: offered %v", arguments, words)
		}
	}
}
