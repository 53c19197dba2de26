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
	timeSetting{
		key: "slice", field: "slice_nanos", low: gang.MinSlice, high: gang.MaxSlice,
		about: "time slice: how long a row of the gang matrix is on",
		at:    func(s *scorev1.Settings) *int64 { return &s.SliceNanos },
	}.setting(),
	countSetting{
		key: "max_rows", field: "max_rows", low: 1, high: gang.MaxRowsLimit,
		about: "most rows of the gang matrix, that is, how many jobs share a CPU",
		at:    func(s *scorev1.Settings) *uint32 { return &s.MaxRows },
	}.setting(),
	memorySetting,
	timeSetting{
		key: "age_per_point", field: "age_per_point_nanos", low: leader.MinAgePerPoint, high: gang.MaxAgePerPoint, unset: usual,
		about: "waiting time after which a job gains a point of priority; default: " + plainTime(gang.DefaultAgePerPoint),
		at:    func(s *scorev1.Settings) *int64 { return &s.AgePerPointNanos },
	}.setting(),
	countSetting{
		key: "weight_step", field: "weight_step", low: 1, high: gang.MaxPriority, unset: usual,
		about: fmt.Sprintf("points of priority for one more slice per turn; default: %d", gang.DefaultWeightStep),
		at:    func(s *scorev1.Settings) *uint32 { return &s.WeightStep },
	}.setting(),
	timeSetting{
		key: "usage_half_life", field: "usage_half_life_nanos", low: leader.MinHalfLife, high: leader.MaxHalfLife, unset: usual,
		about: "time after which half of a user's past usage is forgotten; default: " + plainTime(state.DefaultHalfLife),
		at:    func(s *scorev1.Settings) *int64 { return &s.UsageHalfLifeNanos },
	}.setting(),
	fairShareSetting,
	countSetting{
		key: "history", field: "history", low: 1, high: state.MaxFinished, unset: usual,
		about: fmt.Sprintf("how many finished jobs are remembered, at about 1 KiB each and 128 MiB in all; default: %d", state.DefaultFinished),
		at:    func(s *scorev1.Settings) *uint32 { return &s.History },
	}.setting(),
	countSetting{
		key: "max_processes", field: "max_processes", low: leader.MinProcessLimit, high: leader.MaxProcessLimit, unset: usual,
		about: fmt.Sprintf("most processes and threads that a job may have on a node; default: %d", leader.DefaultMaxProcesses),
		at:    func(s *scorev1.Settings) *uint32 { return &s.MaxProcesses },
	}.setting(),
	timeSetting{
		key: "node_silence", field: "node_silence_nanos", low: leader.MinNodeSilence, high: leader.MaxNodeSilence, unset: usual,
		about: "time within which the loss of a node is detected; default: " + plainTime(leader.DefaultNodeSilence),
		at:    func(s *scorev1.Settings) *int64 { return &s.NodeSilenceNanos },
	}.setting(),
	timeSetting{
		key: "kill_wait", field: "kill_wait_nanos", low: leader.MinKillWait, high: leader.MaxKillWait, unset: usual,
		about: "time from SIGTERM to SIGKILL for a job that is cancelled or over its time; default: " + plainTime(leader.DefaultKillWait),
		at:    func(s *scorev1.Settings) *int64 { return &s.KillWaitNanos },
	}.setting(),
}

// timeSetting describes a setting that is a time within bounds.
type timeSetting struct {
	key, field, about string
	low, high         time.Duration
	// unset, unless empty, is the word that users write for the default, which is stored as 0.
	unset string
	at    func(*scorev1.Settings) *int64
}

func (d timeSetting) setting() setting {
	one := setting{
		key: d.key, field: d.field, about: d.about, words: wordsOf(d.unset),
		allowed: fmt.Sprintf("%s to %s", plainTime(d.low), plainTime(d.high)),
	}
	one.show = func(s *scorev1.Settings) string {
		if *d.at(s) == 0 && d.unset != "" {
			return d.unset
		}
		return plainTime(time.Duration(*d.at(s)))
	}
	one.read = one.orWord(d.unset, func(s *scorev1.Settings, text string) error {
		value, err := cmdline.ParseSpan(text)
		if err != nil {
			return fmt.Errorf("write a time with its unit, %s", one.bounds())
		}
		if value < d.low || value > d.high {
			return fmt.Errorf("it is %s", one.bounds())
		}
		*d.at(s) = value.Nanoseconds()
		return nil
	})
	return one
}

// countSetting describes a setting that is a whole number within bounds.
type countSetting struct {
	key, field, about string
	low, high         uint32
	unset             string // as in timeSetting
	at                func(*scorev1.Settings) *uint32
}

func (d countSetting) setting() setting {
	one := setting{
		key: d.key, field: d.field, about: d.about, words: wordsOf(d.unset),
		allowed: fmt.Sprintf("%d to %d", d.low, d.high),
	}
	one.show = func(s *scorev1.Settings) string {
		if *d.at(s) == 0 && d.unset != "" {
			return d.unset
		}
		return strconv.FormatUint(uint64(*d.at(s)), 10)
	}
	one.read = one.orWord(d.unset, func(s *scorev1.Settings, text string) error {
		value, err := one.number(text, d.low, d.high)
		*d.at(s) = value
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
