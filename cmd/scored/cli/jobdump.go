package cli

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"score/scored/api/scorev1"
	"score/scored/client"
	"strconv"

	"connectrpc.com/connect"
	"github.com/spf13/cobra"
)

func jobDumpCommand(c *caller) *cobra.Command {
	var dir string
	var rank int64
	command := &cobra.Command{
		Use:               "dump JOB",
		Short:             "write the channels of a job's ranks to files for scored channel read",
		ValidArgsFunction: c.completeJob(unfinishedJobs),
		Long: `Writes each channel of a running job's ranks to a file rankR.channelC.image, for
debugging: state, counters, the messages in its inbox, and for each rank on another
node sequence numbers and unacknowledged messages. The files contain messages, so only
you can read them. 'scored channel read' prints them.

A node copies channels while nothing in them moves: while the job's gang is not on, or
its ranks sleep. If the job is always on and busy, the node copies them after a second
and reports which changed meanwhile.`,
		Example: `  scored job dump 7
  scored channel read -a score-7.dump/*`,
		Args: needs(1, "one job"),
		RunE: c.withJob(func(command *cobra.Command, id uint64, daemon *client.Client) error {
			request := &scorev1.DumpJobRequest{JobId: id}
			if rank >= 0 {
				request.OneRank, request.Rank = true, uint32(min(rank, 1<<32-1))
			}
			if dir == "" {
				dir = fmt.Sprintf("score-%d.dump", id)
			}
			return dumpJob(command, daemon, request, dir)
		}),
	}
	command.Flags().StringVarP(&dir, "dir", "d", "", "the `directory` for the files, made if it is not there (default: score-JOB.dump)")
	command.Flags().Int64Var(&rank, "rank", -1, "channels of this `rank` only (default: all)")
	command.Flags().Lookup("rank").DefValue = "0" // the usage says what it is
	return command
}

// errPartial means that the dump lacks parts, which the command has already named.
var errPartial = errors.New("the dump is not complete")

func dumpJob(command *cobra.Command, daemon *client.Client, request *scorev1.DumpJobRequest, dir string) error {
	stream, err := daemon.Jobs.DumpJob(command.Context(), connect.NewRequest(request))
	if err != nil {
		return err
	}
	defer func() { _ = stream.Close() }()
	d := &dumpFiles{command: command, dir: dir}
	for err == nil && stream.Receive() {
		err = d.take(stream.Msg())
	}
	if err == nil {
		err = stream.Err()
	}
	if err == nil {
		err = d.complete()
	}
	d.abandon()
	switch {
	case err != nil:
		return err
	case d.trouble:
		return errPartial
	case d.files == 0:
		return fmt.Errorf("job %d has no channels; only programs that use package pm have them", request.GetJobId())
	default:
		return nil
	}
}

// dumpFiles writes a dump to files as it comes. A file gets its name only when it is complete.
type dumpFiles struct {
	command *cobra.Command
	dir     string
	file    *os.File
	head    *scorev1.DumpHead
	bytes   uint64
	files   int
	trouble bool
}

func (d *dumpFiles) take(part *scorev1.DumpPart) error {
	switch p := part.GetPart().(type) {
	case *scorev1.DumpPart_Head:
		if err := d.complete(); err != nil {
			return err
		}
		return d.begin(p.Head)
	case *scorev1.DumpPart_Data:
		if d.file == nil {
			return errors.New("the daemon sent a dump without a head")
		}
		d.bytes += uint64(len(p.Data))
		_, err := d.file.Write(p.Data)
		return err
	case *scorev1.DumpPart_Trouble:
		d.trouble = true
		d.abandon() // the node broke off in the middle
		fmt.Fprintln(d.command.ErrOrStderr(), "scored: "+printable(p.Trouble))
	}
	return nil
}

const (
	dumpDirMode  = 0o700
	dumpFileMode = 0o600
)

func (d *dumpFiles) begin(head *scorev1.DumpHead) error {
	if err := os.MkdirAll(d.dir, dumpDirMode); err != nil {
		return fmt.Errorf("no directory for the dump: %w; choose another with --dir", err)
	}
	file, err := os.CreateTemp(d.dir, ".score-dump-*") // for nobody else
	if err != nil {
		return fmt.Errorf("the dump cannot be written: %w", err)
	}
	d.file, d.head, d.bytes = file, head, 0
	return file.Chmod(dumpFileMode)
}

// complete gives the file its final name, if there is one.
func (d *dumpFiles) complete() error {
	if d.file == nil {
		return nil
	}
	path := filepath.Join(d.dir, "rank"+strconv.Itoa(int(d.head.GetRank()))+".channel"+strconv.Itoa(int(d.head.GetChannel()))+".image")
	if err := d.file.Close(); err != nil {
		return err
	}
	if err := os.Rename(d.file.Name(), path); err != nil {
		return err
	}
	d.file = nil
	d.files++
	_, err := fmt.Fprintf(d.command.OutOrStdout(), "%s  %s  %s\n", printable(path), shortBytes(d.bytes), takenWords(d.head.GetGangOn(), d.head.GetMoving()))
	return err
}

// abandon removes the file, if there is one that is not complete.
func (d *dumpFiles) abandon() {
	if d.file == nil {
		return
	}
	_, _ = d.file.Close(), os.Remove(d.file.Name()) // what is left of it is of no use
	d.file = nil
}

// takenWords describes how far a dump shows a single instant.
func takenWords(on, moving bool) string {
	switch {
	case moving:
		return "changed while it was copied"
	case on:
		return "its gang was on, and nothing moved"
	default:
		return "its gang was not on"
	}
}
