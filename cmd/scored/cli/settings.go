package cli

import (
	"errors"
	"fmt"
	"io"
	"score/cmd/cmdline"
	"score/scored/api/scorev1"
	"score/scored/client"
	"strings"

	"connectrpc.com/connect"
	"github.com/spf13/cobra"
)

func configCommand(c *caller) *cobra.Command {
	return parent("config", "show and change the settings of the running cluster",
		configListCommand(c), configGetCommand(c), configSetCommand(c))
}

// settingsHelp returns the table of settings for the help text.
func settingsHelp() string {
	var out strings.Builder
	for i := range settings {
		fmt.Fprintf(&out, "  %-15s  %s (%s)\n", settings[i].key, settings[i].about, settings[i].bounds())
	}
	return out.String()
}

// completeSetting offers the settings.
func completeSetting(_ *cobra.Command, arguments []string, _ string) (found []cobra.Completion, _ cobra.ShellCompDirective) {
	if len(arguments) == 0 {
		for i := range settings {
			found = append(found, cobra.CompletionWithDesc(settings[i].key, settings[i].about))
		}
	}
	return found, cobra.ShellCompDirectiveNoFileComp
}

// completeSettingAndValue offers the settings, then the words that a value may be.
func completeSettingAndValue(command *cobra.Command, arguments []string, typed string) (found []cobra.Completion, _ cobra.ShellCompDirective) {
	if len(arguments) != 1 {
		return completeSetting(command, arguments, typed)
	}
	if one, err := findSetting(arguments[0]); err == nil {
		for _, word := range one.words {
			found = append(found, cobra.CompletionWithDesc(word, "or "+one.allowed))
		}
	}
	return found, cobra.ShellCompDirectiveNoFileComp
}

func configListCommand(c *caller) *cobra.Command {
	var asJSON bool
	command := &cobra.Command{
		Use:   "list",
		Short: "show all settings and their possible values",
		Args:  cmdline.NoArgs,
		RunE: c.with(func(command *cobra.Command, _ []string, daemon *client.Client) error {
			return showSettings(command, daemon, settings, asJSON)
		}),
	}
	AddJSON(command, &asJSON)
	return command
}

// atMostOne returns a check that refuses a second argument.
func atMostOne(what string) cobra.PositionalArgs {
	return func(_ *cobra.Command, arguments []string) error {
		if len(arguments) > 1 {
			return errors.New("name one " + what + ", or none for all")
		}
		return nil
	}
}

func configGetCommand(c *caller) *cobra.Command {
	var asJSON bool
	command := &cobra.Command{
		Use:               "get [SETTING]",
		Short:             "show one setting, or all",
		Long:              "Shows one setting, without its name, or all. 'scored config list' explains them.",
		Args:              atMostOne("setting"),
		ValidArgsFunction: completeSetting,
		RunE: func(command *cobra.Command, arguments []string) error {
			shown := settings
			if len(arguments) > 0 {
				one, err := findSetting(arguments[0])
				if err != nil {
					return err
				}
				shown = []setting{one}
			}
			return c.with(func(command *cobra.Command, _ []string, daemon *client.Client) error {
				return showSettings(command, daemon, shown, asJSON)
			})(command, arguments)
		},
	}
	AddJSON(command, &asJSON)
	return command
}

func showSettings(command *cobra.Command, daemon *client.Client, shown []setting, asJSON bool) error {
	reply, err := daemon.Cluster.GetSettings(command.Context(), connect.NewRequest(&scorev1.GetSettingsRequest{}))
	if err != nil {
		return err
	}
	values := reply.Msg.GetSettings()
	if values == nil {
		return errNoSettings
	}
	if asJSON {
		return printSettingsJSON(command.OutOrStdout(), values)
	}
	return printSettings(command.OutOrStdout(), shown, values)
}

// errNoSettings means that the daemon's answer is malformed.
var errNoSettings = errors.New("the daemon's answer has no settings")

// printSettings prints settings; a single one without its name, for scripts.
func printSettings(out io.Writer, shown []setting, values *scorev1.Settings) error {
	if len(shown) == 1 {
		_, err := fmt.Fprintln(out, shown[0].show(values))
		return err
	}
	t := newTable(out, "SETTING", "VALUE", "ALLOWED", "MEANING")
	for i := range shown {
		t.row(shown[i].key, shown[i].show(values), shown[i].bounds(), shown[i].about)
	}
	return t.flush()
}

func printSettingsJSON(out io.Writer, values *scorev1.Settings) error {
	if values == nil {
		return errNoSettings
	}
	return printJSON(out, struct {
		SliceNanos   int64   `json:"slice_nanos"`
		MaxRows      uint32  `json:"max_rows"`
		MemoryPerCPU uint64  `json:"memory_per_cpu_bytes"`
		AgePerPoint  int64   `json:"age_per_point_nanos"`   // 0: the default
		WeightStep   uint32  `json:"weight_step"`           // 0: the default
		HalfLife     int64   `json:"usage_half_life_nanos"` // 0: the default
		FairShare    *uint32 `json:"fair_share_points"`     // null: the default
		NodeSilence  int64   `json:"node_silence_nanos"`    // 0: the default
		MaxProcesses uint32  `json:"max_processes"`         // 0: the default
		KillWait     int64   `json:"kill_wait_nanos"`       // 0: the default
	}{
		values.GetSliceNanos(), values.GetMaxRows(), values.GetDefaultMemoryPerCpuBytes(),
		values.GetAgePerPointNanos(), values.GetWeightStep(), values.GetUsageHalfLifeNanos(), values.FairSharePoints,
		values.GetNodeSilenceNanos(), values.GetMaxProcesses(), values.GetKillWaitNanos(),
	})
}

func configSetCommand(c *caller) *cobra.Command {
	var asJSON bool
	command := &cobra.Command{
		Use:   "set SETTING VALUE",
		Short: "change a setting at once",
		Long:  "Changes a setting of the running cluster at once, on all its servers:\n\n" + settingsHelp(),
		Example: `  scored config set slice 50ms
  scored config set history default`,
		Args:              cobra.ArbitraryArgs,
		ValidArgsFunction: completeSettingAndValue,
		RunE: func(command *cobra.Command, arguments []string) error {
			if len(arguments) == 1 { // as for 'scored user set'
				arguments = strings.SplitN(arguments[0], "=", 2)
			}
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
				reply, err := daemon.Cluster.SetSettings(command.Context(), connect.NewRequest(request))
				if err != nil || !asJSON {
					return err
				}
				return printSettingsJSON(command.OutOrStdout(), reply.Msg.GetSettings())
			})(command, arguments)
		},
	}
	AddJSON(command, &asJSON)
	return command
}
