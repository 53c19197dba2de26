package cli

import (
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"connectrpc.com/connect"
	"github.com/spf13/cobra"
	"google.golang.org/protobuf/proto"

	"score/cmd/scrun/options"
	"score/scored/api/scorev1"
	"score/scored/client"
)

func configCommand(c *caller) *cobra.Command {
	return parent("config", "show and change the settings of the running cluster",
		configGetCommand(c), configSetCommand(c))
}

// setting is one value that can change while the cluster runs.
type setting struct {
	key   string
	field string // its name in the message
	about string
	show  func(*scorev1.Settings) string
	read  func(*scorev1.Settings, string) error
}

// settings is the table of them all.
var settings = []setting{
	{
		key: "slice", field: "slice_nanos", about: "time for which a row of the gang matrix is on (10ms, 1s)",
		show: func(s *scorev1.Settings) string { return time.Duration(s.GetSliceNanos()).String() },
		read: func(s *scorev1.Settings, text string) error {
			slice, err := time.ParseDuration(text)
			if err != nil || slice <= 0 {
				return errors.New("write a time with its unit, as in 10ms or 1s")
			}
			s.SliceNanos = slice.Nanoseconds()
			return nil
		},
	},
	{
		key: "max_rows", field: "max_rows", about: "most rows of the gang matrix, that is, how many jobs share a CPU",
		show: func(s *scorev1.Settings) string { return strconv.Itoa(int(s.GetMaxRows())) },
		read: func(s *scorev1.Settings, text string) (err error) {
			s.MaxRows, err = options.ParseCount(text)
			return err
		},
	},
	{
		key: "memory_per_cpu", field: "default_memory_per_cpu_bytes", about: "memory that a job without --mem gets for each CPU (512M, 2G, or share: max_rows jobs fit beside each other)",
		show: func(s *scorev1.Settings) string {
			if s.GetDefaultMemoryPerCpuBytes() == 0 {
				return equalShare
			}
			return shortBytes(s.GetDefaultMemoryPerCpuBytes())
		},
		read: func(s *scorev1.Settings, text string) (err error) {
			if text == equalShare {
				s.DefaultMemoryPerCpuBytes = 0
				return nil
			}
			s.DefaultMemoryPerCpuBytes, err = options.ParseBytes(text)
			return err
		},
	},
	{
		key: "usage_half_life", field: "usage_half_life_nanos", about: "after what time half of what users have used is forgotten (24h, or default: a week)",
		show: func(s *scorev1.Settings) string {
			if s.GetUsageHalfLifeNanos() == 0 {
				return usual
			}
			return time.Duration(s.GetUsageHalfLifeNanos()).String()
		},
		read: func(s *scorev1.Settings, text string) error {
			if text == usual {
				return nil
			}
			half, err := time.ParseDuration(text)
			if err != nil || half <= 0 {
				return errors.New("write a time with its unit, as in 24h, or default")
			}
			s.UsageHalfLifeNanos = half.Nanoseconds()
			return nil
		},
	},
	{
		key: "fair_share", field: "fair_share_points", about: "most points of priority for having used little of one's share (0: none, or default: 14400)",
		show: func(s *scorev1.Settings) string {
			if s.FairSharePoints == nil {
				return usual
			}
			return strconv.Itoa(int(s.GetFairSharePoints()))
		},
		read: func(s *scorev1.Settings, text string) error {
			if text == usual {
				return nil
			}
			points, err := strconv.ParseUint(text, 10, 32)
			if err != nil {
				return errors.New("write a number of points, or default")
			}
			s.FairSharePoints = proto.Uint32(uint32(points))
			return nil
		},
	},
}

// usual is the word for a setting that nobody has changed.
const usual = "default"

// equalShare is the word for a default of memory that follows the nodes' sizes.
const equalShare = "share"

func findSetting(key string) (setting, error) {
	keys := make([]string, 0, len(settings))
	for _, candidate := range settings {
		if candidate.key == key {
			return candidate, nil
		}
		keys = append(keys, candidate.key)
	}
	return setting{}, fmt.Errorf("there is no setting %q: it is %s", key, strings.Join(keys, ", "))
}

// settingsHelp lists the table for the help text.
func settingsHelp() string {
	var out strings.Builder
	for _, one := range settings {
		fmt.Fprintf(&out, "  %-15s %s\n", one.key, one.about)
	}
	return out.String()
}

func configGetCommand(c *caller) *cobra.Command {
	var asJSON bool
	command := &cobra.Command{
		Use:   "get [SETTING]",
		Short: "show the settings",
		Long:  "Shows all settings, or one:\n\n" + settingsHelp(),
		Args:  cobra.MaximumNArgs(1),
		RunE: c.with(func(command *cobra.Command, arguments []string, daemon *client.Client) error {
			shown := settings
			if len(arguments) > 0 {
				one, err := findSetting(arguments[0])
				if err != nil {
					return err
				}
				shown = []setting{one}
			}
			reply, err := daemon.Cluster.GetSettings(command.Context(), connect.NewRequest(&scorev1.GetSettingsRequest{}))
			if err != nil {
				return err
			}
			if asJSON {
				return printSettingsJSON(command.OutOrStdout(), reply.Msg.GetSettings())
			}
			return printSettings(command.OutOrStdout(), shown, reply.Msg.GetSettings())
		}),
	}
	addJSON(command, &asJSON)
	return command
}

// printSettings shows a single one without its name, for scripts.
func printSettings(out io.Writer, shown []setting, values *scorev1.Settings) error {
	if len(shown) == 1 {
		_, err := fmt.Fprintln(out, shown[0].show(values))
		return err
	}
	t := newTable(out, "SETTING", "VALUE", "MEANING")
	for _, one := range shown {
		t.row(one.key, one.show(values), one.about)
	}
	return t.flush()
}

func printSettingsJSON(out io.Writer, values *scorev1.Settings) error {
	return printJSON(out, struct {
		Schema       int     `json:"schema"`
		SliceNanos   int64   `json:"slice_nanos"`
		MaxRows      uint32  `json:"max_rows"`
		MemoryPerCPU uint64  `json:"memory_per_cpu_bytes"`
		HalfLife     int64   `json:"usage_half_life_nanos"` // 0: the default
		FairShare    *uint32 `json:"fair_share_points"`     // null: the default
	}{schema, values.GetSliceNanos(), values.GetMaxRows(), values.GetDefaultMemoryPerCpuBytes(), values.GetUsageHalfLifeNanos(), values.FairSharePoints})
}

func configSetCommand(c *caller) *cobra.Command {
	return &cobra.Command{
		Use:   "set SETTING VALUE",
		Short: "change a setting at once",
		Long:  "Changes a setting of the running cluster at once:\n\n" + settingsHelp(),
		Args:  cobra.ArbitraryArgs,
		RunE: func(command *cobra.Command, arguments []string) error {
			if len(arguments) != 2 {
				return errors.New("name a setting and its new value, as in: scored config set slice 10ms")
			}
			one, err := findSetting(arguments[0])
			if err != nil {
				return err
			}
			request := &scorev1.SetSettingsRequest{Settings: &scorev1.Settings{}, Fields: []string{one.field}}
			if err := one.read(request.GetSettings(), arguments[1]); err != nil {
				return fmt.Errorf("%s %q: %w", one.key, arguments[1], err)
			}
			return c.with(func(command *cobra.Command, _ []string, daemon *client.Client) error {
				_, err := daemon.Cluster.SetSettings(command.Context(), connect.NewRequest(request))
				return err
			})(command, arguments)
		},
	}
}
