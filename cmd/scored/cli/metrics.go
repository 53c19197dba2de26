package cli

import (
	"fmt"
	"io"
	"score/cmd/cmdline"
	"score/ctxswitch"
	"score/scored/api/plural"
	"score/scored/api/scorev1"
	"score/scored/client"
	"strconv"
	"strings"
	"time"

	"connectrpc.com/connect"
	"github.com/spf13/cobra"
)

func metricsCommand(c *caller) *cobra.Command {
	var asJSON bool
	command := &cobra.Command{
		Use:   "metrics",
		Short: "show counters of the cluster",
		Args:  cmdline.NoArgs,
		RunE: c.with(func(command *cobra.Command, _ []string, daemon *client.Client) error {
			overview, err := askOverview(command, daemon)
			if err != nil {
				return err
			}
			if asJSON {
				return printJSON(command.OutOrStdout(), overview)
			}
			return overview.print(command.OutOrStdout())
		}),
	}
	AddJSON(command, &asJSON)
	command.AddCommand(metricsSwitchCommand(c))
	return command
}

// overviewData is the state of the whole cluster in a few figures.
type overviewData struct {
	Cluster          string     `json:"cluster"`
	NodesUp          int        `json:"nodes_up"`
	Nodes            int        `json:"nodes"`
	JobsRunning      uint64     `json:"jobs_running"`
	JobsQueued       uint64     `json:"jobs_queued"`
	Rows             int        `json:"rows"`
	SliceNanos       int64      `json:"slice_nanos"`
	PlanVersion      uint64     `json:"plan_version"`
	ToRunning        *stepsData `json:"to_running,omitempty"`
	Skew             *stepsData `json:"skew,omitempty"`
	MissedBoundaries uint64     `json:"missed_boundaries"`
	LateFreezes      uint64     `json:"late_freezes"`
}

// askOverview combines the answers of four calls.
func askOverview(command *cobra.Command, daemon *client.Client) (*overviewData, error) {
	ctx := command.Context()
	version, err := daemon.Cluster.GetVersion(ctx, connect.NewRequest(&scorev1.GetVersionRequest{}))
	if err != nil {
		return nil, err
	}
	nodes, err := listNodes(command, daemon)
	if err != nil {
		return nil, err
	}
	matrix, err := daemon.Cluster.GetMatrix(ctx, connect.NewRequest(&scorev1.GetMatrixRequest{}))
	if err != nil {
		return nil, err
	}
	settings, err := daemon.Cluster.GetSettings(ctx, connect.NewRequest(&scorev1.GetSettingsRequest{}))
	if err != nil {
		return nil, err
	}
	switches, err := daemon.Cluster.SwitchMetrics(ctx, connect.NewRequest(&scorev1.SwitchMetricsRequest{}))
	if err != nil {
		return nil, err
	}
	overview := &overviewData{
		Cluster: version.Msg.GetCluster(), Nodes: len(nodes.GetNodes()),
		JobsRunning: version.Msg.GetJobsRunning(), JobsQueued: version.Msg.GetJobsQueued(),
		Rows: len(matrix.Msg.GetRows()), PlanVersion: matrix.Msg.GetPlanVersion(),
		SliceNanos: settings.Msg.GetSettings().GetSliceNanos(),
		ToRunning:  newStepsData(switches.Msg.GetToRunning()), Skew: newStepsData(switches.Msg.GetSkew()),
		MissedBoundaries: switches.Msg.GetMissedBoundaries(), LateFreezes: switches.Msg.GetLateFreezes(),
	}
	for _, node := range nodes.GetNodes() {
		if node.GetUp() {
			overview.NodesUp++
		}
	}
	return overview, nil
}

func (o *overviewData) print(out io.Writer) error {
	t := newTable(out)
	t.row("cluster", o.Cluster)
	t.row("nodes", fmt.Sprintf("%d, %d up", o.Nodes, o.NodesUp))
	t.row("jobs", fmt.Sprintf("%d running, %d waiting", o.JobsRunning, o.JobsQueued))
	t.row("rotation", fmt.Sprintf("%s, slices of %s, plan %d", plural.Of(o.Rows, "row", "rows"), shortTime(time.Duration(o.SliceNanos)), o.PlanVersion))
	t.row("switch", "planned instant to running everywhere: "+o.ToRunning.words())
	t.row("skew", "between the nodes of a switch: "+o.Skew.words())
	t.row("missed", plural.Of(o.MissedBoundaries, "boundary", "boundaries")+", "+lateFreezes(o.LateFreezes))
	return t.flush()
}

func lateFreezes(n uint64) string { return plural.Of(n, "late freeze", "late freezes") }

func metricsSwitchCommand(c *caller) *cobra.Command {
	var request scorev1.SwitchMetricsRequest
	var asJSON bool
	command := &cobra.Command{
		Use:   "switch",
		Short: "show how long the steps of the switches took",
		Long: "Shows how often each step of the switches was taken, and how long it took:\n\n" + switchSteps() + `
Where nothing waits until the outgoing jobs stand still, that is only found out at the
next instant: stop then shows the time of a slice.`,
		Example: `  scored metrics switch --node n1
  scored metrics switch --job 7`,
		Args: cmdline.NoArgs,
		RunE: c.with(func(command *cobra.Command, _ []string, daemon *client.Client) error {
			reply, err := daemon.Cluster.SwitchMetrics(command.Context(), connect.NewRequest(&request))
			if err != nil {
				return err
			}
			if asJSON {
				return printSwitchJSON(command.OutOrStdout(), reply.Msg)
			}
			return printSwitch(command.OutOrStdout(), reply.Msg)
		}),
	}
	command.Flags().Uint64Var(&request.JobId, "job", 0, "switches of this `job` only")
	command.Flags().StringVar(&request.Node, "node", "", "switches of this `node` only")
	_ = command.RegisterFlagCompletionFunc("job", c.completeJobs(unfinishedJobs)) // it was defined just now
	_ = command.RegisterFlagCompletionFunc("node", c.completeNodes)               // likewise
	AddJSON(command, &asJSON)
	return command
}

// switchSteps explains the steps, in the order in which they are printed.
func switchSteps() string {
	var out strings.Builder
	for _, measure := range ctxswitch.MeasureTable {
		fmt.Fprintf(&out, "  %-6s  %s\n", measure.Name, measure.Meaning)
	}
	return out.String()
}

// stepsData is a distribution of durations as --json prints it.
type stepsData struct {
	Step        string `json:"step"`
	Count       uint64 `json:"count"`
	MedianNanos int64  `json:"median_nanos"`
	P99Nanos    int64  `json:"p99_nanos"`
	MaxNanos    int64  `json:"max_nanos"`
	SumNanos    int64  `json:"sum_nanos"`
}

// newStepsData returns nil for a distribution of nothing.
func newStepsData(steps *scorev1.StepTimes) *stepsData {
	if steps.GetCount() == 0 {
		return nil
	}
	return &stepsData{
		Step: steps.GetStep(), Count: steps.GetCount(), MedianNanos: steps.GetMedianNanos(),
		P99Nanos: steps.GetP99Nanos(), MaxNanos: steps.GetMaxNanos(), SumNanos: steps.GetSumNanos(),
	}
}

func (s *stepsData) words() string {
	if s == nil {
		return "none yet"
	}
	return fmt.Sprintf("median %s, p99 %s, max %s", shortTime(time.Duration(s.MedianNanos)),
		shortTime(time.Duration(s.P99Nanos)), shortTime(time.Duration(s.MaxNanos)))
}

// flushesData describes how channels left the network, as --json prints it.
type flushesData struct {
	Clean  uint64 `json:"clean"`
	CutOff uint64 `json:"cut_off"`
	Held   uint64 `json:"held"`
}

func newFlushesData(f *scorev1.Flushes) *flushesData {
	if f == nil {
		return nil
	}
	return &flushesData{f.GetClean(), f.GetCutOff(), f.GetHeld()}
}

func printSwitchJSON(out io.Writer, reply *scorev1.SwitchMetricsResponse) error {
	type group struct {
		Node    string       `json:"node"`
		Job     uint64       `json:"job"`
		Steps   []*stepsData `json:"steps"`
		Flushes *flushesData `json:"flushes,omitempty"`
	}
	groups := make([]group, 0, len(reply.GetGroups()))
	for _, g := range reply.GetGroups() {
		steps := make([]*stepsData, 0, len(g.GetSteps()))
		for _, step := range g.GetSteps() {
			if data := newStepsData(step); data != nil {
				steps = append(steps, data)
			}
		}
		groups = append(groups, group{g.GetNode(), g.GetJobId(), steps, newFlushesData(g.GetFlushes())})
	}
	return printJSON(out, struct {
		Groups           []group    `json:"groups"`
		Skew             *stepsData `json:"skew,omitempty"`
		ToRunning        *stepsData `json:"to_running,omitempty"`
		MissedBoundaries uint64     `json:"missed_boundaries"`
		LateFreezes      uint64     `json:"late_freezes"`
	}{groups, newStepsData(reply.GetSkew()), newStepsData(reply.GetToRunning()), reply.GetMissedBoundaries(), reply.GetLateFreezes()})
}

func printSwitch(out io.Writer, reply *scorev1.SwitchMetricsResponse) error {
	t := newTable(out, "NODE", "JOB", "STEP", "COUNT", "MEDIAN", "P99", "MAX")
	for _, group := range reply.GetGroups() {
		for _, step := range group.GetSteps() {
			stepRow(t, group.GetNode(), group.GetJobId(), step.GetStep(), step)
		}
	}
	stepRow(t, "", 0, "skew", reply.GetSkew())
	stepRow(t, "", 0, "to running", reply.GetToRunning())
	if err := t.flush(); err != nil {
		return err
	}
	if err := printFlushes(out, reply); err != nil {
		return err
	}
	_, err := fmt.Fprintln(out, plural.Of(reply.GetMissedBoundaries(), "missed boundary", "missed boundaries")+", "+lateFreezes(reply.GetLateFreezes()))
	return err
}

// printFlushes prints how channels left the network, if any did.
func printFlushes(out io.Writer, reply *scorev1.SwitchMetricsResponse) error {
	t := newTable(out, "NODE", "JOB", "FLUSHES CLEAN", "CUT OFF", "HELD")
	some := false
	for _, group := range reply.GetGroups() {
		f := group.GetFlushes()
		if f == nil {
			continue
		}
		some = true
		t.row(group.GetNode(), jobOrAll(group.GetJobId()), strconv.FormatUint(f.GetClean(), 10),
			strconv.FormatUint(f.GetCutOff(), 10), strconv.FormatUint(f.GetHeld(), 10))
	}
	if !some {
		return nil
	}
	return t.flush()
}

// stepRow adds a row for a step, unless the step never happened.
func stepRow(t *table, node string, job uint64, name string, step *scorev1.StepTimes) {
	if step.GetCount() == 0 {
		return
	}
	if node == "" {
		node = "all"
	}
	t.row(node, jobOrAll(job), name, strconv.FormatUint(step.GetCount(), 10), shortTime(time.Duration(step.GetMedianNanos())),
		shortTime(time.Duration(step.GetP99Nanos())), shortTime(time.Duration(step.GetMaxNanos())))
}

func jobOrAll(job uint64) string {
	if job == 0 {
		return "all"
	}
	return strconv.FormatUint(job, 10)
}
