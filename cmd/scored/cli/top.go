package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"score/cmd/cmdline"
	"score/scored/api/scorev1"
	"score/scored/client"
	"strings"
	"time"

	"connectrpc.com/connect"
	"github.com/spf13/cobra"
	"golang.org/x/term"
)

const (
	// topInterval is how often nodes report.
	topInterval = time.Second
	// topShortest is the shortest interval, so that a forgotten top does not load the leader.
	topShortest = 100 * time.Millisecond
	// topPatience bounds one request.
	topPatience = 10 * time.Second
)

// topOptions are the flags of top.
type topOptions struct {
	once, batch, json bool
	interval          time.Duration
	sort              string
}

func topCommand(c *caller) *cobra.Command {
	o := topOptions{interval: topInterval}
	command := &cobra.Command{
		Use:   "top",
		Short: "watch the gang matrix, and the time and messages of jobs",
		Long: `Shows the gang matrix, where a * marks the row that is on now, and for each job: the
part of the time that its gang was on (SHARE), the messages and bytes that its ranks
sent per second, the frames from other nodes that were refused and that were sent
again per second, and the median time of a flush (until none of its messages was in
the network) and of a switch (from the planned time until it ran), over all its nodes.
Rates are between the last two reports of its nodes, which come once a second.

q quits; j, c, m, b, r, e, f and w sort by job, share, messages, bytes, refusals,
resends, flush and switch. If the output is not a terminal, frames are printed one after
the other (--batch). Set NO_COLOR in the environment to turn colours off.`,
		Args: cmdline.NoArgs,
		RunE: c.with(func(command *cobra.Command, _ []string, daemon *client.Client) error {
			return runTop(command, &o, func(ctx context.Context) (*scorev1.GetTopResponse, error) { return askTop(ctx, daemon) })
		}),
	}
	flags := command.Flags()
	flags.BoolVar(&o.once, "once", false, "print one frame and exit")
	flags.BoolVarP(&o.batch, "batch", "b", false, "print frames one after the other, without terminal control")
	addSpan(flags, &o.interval, "interval", "i", "the `time` between two frames")
	flags.StringVar(&o.sort, "sort", "share", "sort jobs by this `column`: "+strings.Join(topSortNames(), ", "))
	_ = command.RegisterFlagCompletionFunc("sort", cobra.FixedCompletions(topSortNames(), cobra.ShellCompDirectiveNoFileComp)) // it was defined just now
	flags.BoolVar(&o.json, "json", false, "print one JSON object per interval, each on a line")
	return command
}

func (o *topOptions) check() (topSort, error) {
	if o.interval < topShortest {
		return topSort{}, fmt.Errorf("an interval of %s is too short; nodes report once a second, use at least %s", o.interval, topShortest)
	}
	for _, s := range topSorts {
		if s.name == o.sort {
			return s, nil
		}
	}
	return topSort{}, fmt.Errorf("there is no column %q; sort by %s", o.sort, strings.Join(topSortNames(), ", "))
}

func askTop(ctx context.Context, daemon *client.Client) (*scorev1.GetTopResponse, error) {
	ctx, cancel := context.WithTimeout(ctx, topPatience)
	defer cancel()
	reply, err := daemon.Cluster.GetTop(ctx, connect.NewRequest(&scorev1.GetTopRequest{}))
	if err != nil {
		return nil, err
	}
	return reply.Msg, nil
}

// askFunc requests the figures of the next frame.
type askFunc func(context.Context) (*scorev1.GetTopResponse, error)

func runTop(command *cobra.Command, o *topOptions, ask askFunc) error {
	sort, err := o.check()
	if err != nil {
		return err
	}
	out := command.OutOrStdout()
	if screen := topTerminal(out, os.Stdin); screen != nil && !o.once && !o.batch && !o.json {
		return (&liveTop{screen: screen, ask: ask, interval: o.interval, sort: sort}).run(command.Context())
	}
	return batchTop(command.Context(), out, o, sort, ask)
}

// topTerminal returns the terminal that frames can be shown on, or nil.
func topTerminal(out io.Writer, in *os.File) *screen {
	file, ok := out.(*os.File)
	if !ok || !term.IsTerminal(int(file.Fd())) || !term.IsTerminal(int(in.Fd())) {
		return nil
	}
	if name := os.Getenv("TERM"); name == "" || name == "dumb" {
		return nil
	}
	return &screen{in: in, out: file, colour: os.Getenv("NO_COLOR") == ""}
}

// batchTop prints frames, or objects, one after the other.
func batchTop(ctx context.Context, out io.Writer, o *topOptions, sort topSort, ask askFunc) error {
	ticker := time.NewTicker(o.interval)
	defer ticker.Stop()
	for first := true; ; first = false {
		top, err := ask(ctx)
		switch {
		case err != nil:
		case o.json:
			err = printJSONLine(out, newTopData(top))
		default:
			err = printTop(out, top, sort, first)
		}
		if err != nil || o.once {
			return withoutCancel(ctx, err)
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return nil
		}
	}
}

// withoutCancel returns nil for an error that the user's ^C has caused.
func withoutCancel(ctx context.Context, err error) error {
	if ctx.Err() != nil && !errors.Is(err, context.DeadlineExceeded) {
		return nil
	}
	return err
}

func printTop(out io.Writer, top *scorev1.GetTopResponse, sort topSort, first bool) error {
	text := ""
	if !first {
		text = "\n"
	}
	for _, line := range topFrame(top, sort, 0, 0) {
		text += strings.TrimRight(line.text, " ") + "\n"
	}
	_, err := io.WriteString(out, text)
	return err
}
