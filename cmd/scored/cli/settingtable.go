package cli

import (
	"errors"
	"fmt"
	"score/cmd/cmdline"
	"score/gang"
	"score/scored/api/scorev1"
	"score/scored/leader"
	"score/scored/state"
	"strconv"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"
)

// setting is one value that can change while the cluster runs.
type setting struct {
	key     string
	field   string // its name in the message
	about   string
	allowed string   // in words
	words   []string // that can stand for a value
	show    func(*scorev1.Settings) string
	read    func(*scorev1.Settings, string) error
}

const (
	// usual is the word for a setting that nobody has changed.
	usual = "default"
	// equalShare is the word for a default of memory that follows the nodes' sizes.
	equalShare = "share"
)

// settings is the table of all settings.
var settings = []setting{
	timeSetting("slice", "slice_nanos", "time slice: how long a row of the gang matrix is on",
		gang.MinSlice, gang.MaxSlice, "", func(s *scorev1.Settings) *int64 { return &s.SliceNanos }),
	countSetting("max_rows", "max_rows", "most rows of the gang matrix, that is, how many jobs share a CPU",
		1, gang.MaxRowsLimit, "", func(s *scorev1.Settings) *uint32 { return &s.MaxRows }),
	memorySetting,
	timeSetting(
		"age_per_point",
		"age_per_point_nanos",
		"waiting time after which a job gains a point of priority; default: "+plainTime(gang.DefaultAgePerPoint),
		leader.MinAgePerPoint,
		gang.MaxAgePerPoint,
		usual,
		func(s *scorev1.Settings) *int64 { return &s.AgePerPointNanos },
	),
	countSetting("weight_step", "weight_step", fmt.Sprintf("points of priority for one more slice per turn; default: %d", gang.DefaultWeightStep),
		1, gang.MaxPriority, usual, func(s *scorev1.Settings) *uint32 { return &s.WeightStep }),
	timeSetting(
		"usage_half_life",
		"usage_half_life_nanos",
		"time after which half of a user's past usage is forgotten; default: "+plainTime(state.DefaultHalfLife),
		leader.MinHalfLife,
		leader.MaxHalfLife,
		usual,
		func(s *scorev1.Settings) *int64 { return &s.UsageHalfLifeNanos },
	),
	fairShareSetting,
	countSetting(
		"history",
		"history",
		fmt.Sprintf("how many finished jobs are remembered, at about 1 KiB each and 128 MiB in all; default: %d", state.DefaultFinished),
		1,
		state.MaxFinished,
		usual,
		func(s *scorev1.Settings) *uint32 { return &s.History },
	),
	countSetting(
		"max_processes",
		"max_processes",
		fmt.Sprintf("most processes and threads that a job may have on a node; default: %d", leader.DefaultMaxProcesses),
		leader.MinProcessLimit,
		leader.MaxProcessLimit,
		usual,
		func(s *scorev1.Settings) *uint32 { return &s.MaxProcesses },
	),
	timeSetting("node_silence", "node_silence_nanos", "time within which the loss of a node is detected; default: "+plainTime(leader.DefaultNodeSilence),
		leader.MinNodeSilence, leader.MaxNodeSilence, usual, func(s *scorev1.Settings) *int64 { return &s.NodeSilenceNanos }),
	timeSetting(
		"kill_wait",
		"kill_wait_nanos",
		"time from SIGTERM to SIGKILL for a job that is cancelled or over its time; default: "+plainTime(leader.DefaultKillWait),
		leader.MinKillWait,
		leader.MaxKillWait,
		usual,
		func(s *scorev1.Settings) *int64 { return &s.KillWaitNanos },
	),
}

// timeSetting returns a setting that is a time within bounds; unset, unless empty, is the word that
// users write for the default, which is stored as 0.
func timeSetting(key, field, about string, low, high time.Duration, unset string, at func(*scorev1.Settings) *int64) setting {
	one := setting{key: key, field: field, about: about, allowed: fmt.Sprintf("%s to %s", plainTime(low), plainTime(high)), words: wordsOf(unset)}
	one.show = func(s *scorev1.Settings) string {
		if *at(s) == 0 && unset != "" {
			return unset
		}
		return plainTime(time.Duration(*at(s)))
	}
	one.read = one.orWord(unset, func(s *scorev1.Settings, text string) error {
		value, err := cmdline.ParseSpan(text)
		if err != nil {
			return fmt.Errorf("write a time with its unit, %s", one.bounds())
		}
		if value < low || value > high {
			return fmt.Errorf("it is %s", one.bounds())
		}
		*at(s) = value.Nanoseconds()
		return nil
	})
	return one
}

// countSetting returns a whole number within bounds; see timeSetting.
func countSetting(key, field, about string, low, high uint32, unset string, at func(*scorev1.Settings) *uint32) setting {
	one := setting{key: key, field: field, about: about, allowed: fmt.Sprintf("%d to %d", low, high), words: wordsOf(unset)}
	one.show = func(s *scorev1.Settings) string {
		if *at(s) == 0 && unset != "" {
			return unset
		}
		return strconv.FormatUint(uint64(*at(s)), 10)
	}
	one.read = one.orWord(unset, func(s *scorev1.Settings, text string) error {
		value, err := one.number(text, low, high)
		*at(s) = value
		return err
	})
	return one
}

var memorySetting = setting{
	key:     "memory_per_cpu",
	field:   "default_memory_per_cpu_bytes",
	about:   "memory that a job without --mem gets for each CPU; share: max_rows jobs fit beside each other",
	allowed: "an amount as in 512M",
	words:   []string{equalShare},
	show: func(s *scorev1.Settings) string {
		if s.GetDefaultMemoryPerCpuBytes() == 0 {
			return equalShare
		}
		return gang.FormatMemory(int64(s.GetDefaultMemoryPerCpuBytes()))
	},
	read: func(s *scorev1.Settings, text string) (err error) {
		if text == equalShare {
			return nil
		}
		if s.DefaultMemoryPerCpuBytes, err = cmdline.ParseBytes(text); err != nil || s.DefaultMemoryPerCpuBytes > gang.MaxMemory {
			return fmt.Errorf("write an amount of memory up to %s, as in 512M, or %s", gang.FormatMemory(gang.MaxMemory), equalShare)
		}
		return nil
	},
}

var fairShareSetting = fairShare()

// fairShare returns the setting of fair-share points. Its value may be 0, which is not the default.
func fairShare() setting {
	one := setting{
		key:     "fair_share",
		field:   "fair_share_points",
		about:   fmt.Sprintf("most points of priority for an unused share; default: %d", leader.DefaultFairSharePoints),
		allowed: fmt.Sprintf("0 to %d", leader.MaxFairSharePoints),
		words:   []string{usual},
	}
	one.show = func(s *scorev1.Settings) string {
		if s.FairSharePoints == nil {
			return usual
		}
		return strconv.Itoa(int(s.GetFairSharePoints()))
	}
	one.read = one.orWord(usual, func(s *scorev1.Settings, text string) error {
		points, err := one.number(text, 0, leader.MaxFairSharePoints)
		s.FairSharePoints = proto.Uint32(points)
		return err
	})
	return one
}

func wordsOf(unset string) []string {
	if unset == "" {
		return nil
	}
	return []string{unset}
}

// bounds describes the values that are accepted.
func (s *setting) bounds() string {
	return strings.Join(append([]string{s.allowed}, s.words...), ", or ")
}

// orWord returns a function that leaves the default if the text is the word unset, and else calls
// read.
func (s *setting) orWord(unset string, read func(*scorev1.Settings, string) error) func(*scorev1.Settings, string) error {
	return func(values *scorev1.Settings, text string) error {
		if unset != "" && text == unset {
			return nil
		}
		return read(values, text)
	}
}

func (s *setting) number(text string, low, high uint32) (uint32, error) {
	value, err := strconv.ParseUint(text, 10, 32)
	if err != nil || value < uint64(low) || value > uint64(high) {
		return 0, errors.New("write a number, " + s.bounds())
	}
	return uint32(value), nil
}

func findSetting(key string) (setting, error) {
	keys := make([]string, 0, len(settings))
	for _, candidate := range settings {
		if candidate.key == key {
			return candidate, nil
		}
		keys = append(keys, candidate.key)
	}
	hint := cmdline.Hint(key, keys)
	if hint == "" {
		hint = "; there are " + strings.Join(keys, ", ")
	}
	return setting{}, fmt.Errorf("there is no setting %q%s", key, hint)
}
