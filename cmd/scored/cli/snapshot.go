package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"score/scored/api/plural"
	"score/scored/api/scorev1"
	"score/scored/backup"
	"score/scored/client"
	"score/scored/state"
	"time"

	"connectrpc.com/connect"
	"github.com/spf13/cobra"
)

func snapshotCommand(c *caller) *cobra.Command {
	return parent("snapshot", "save, show and restore the cluster's state", snapshotSaveCommand(c), snapshotShowCommand())
}

func snapshotSaveCommand(c *caller) *cobra.Command {
	var replace, asJSON bool
	command := &cobra.Command{
		Use:   "save FILE",
		Short: "write the cluster's whole state to a file",
		Long: `Writes the state of the cluster, as it is at one moment, to a file: users, jobs,
settings, nodes, certificates. The cluster continues meanwhile. The file contains all
that was acknowledged before the command began. It is checked before it gets its name.

The file contains the environments of users' jobs, so only you can read it. It does not
contain keys and the authority: back up the directory of the certificates and the key
file, too.`,
		Example: `  scored snapshot save lab.snapshot`,
		Args:    needs(1, "the file"),
		RunE: c.with(func(command *cobra.Command, arguments []string, daemon *client.Client) error {
			path := arguments[0]
			if _, err := os.Lstat(path); err == nil && !replace {
				return fmt.Errorf("%s exists; choose another name, or use --replace", path)
			}
			saved, err := saveSnapshot(command, daemon, path)
			if err != nil {
				return err
			}
			if asJSON {
				return printJSON(command.OutOrStdout(), saved.data(path))
			}
			_, err = fmt.Fprintf(command.OutOrStdout(), "%s: %s\n", printable(path), saved.sentence())
			return err
		}),
	}
	command.Flags().BoolVar(&replace, "replace", false, "replace an existing file, once the new one is complete")
	AddJSON(command, &asJSON)
	return command
}

// saveSnapshot writes what the daemon sends to a temporary file beside path, verifies it, and
// renames it to path.
func saveSnapshot(command *cobra.Command, daemon *client.Client, path string) (saved Saved, err error) {
	stream, err := daemon.Cluster.SaveSnapshot(command.Context(), connect.NewRequest(&scorev1.SaveSnapshotRequest{}))
	if err != nil {
		return saved, err
	}
	defer func() { _ = stream.Close() }()                               // what was to come has come
	file, err := os.CreateTemp(filepath.Dir(path), ".score-snapshot-*") // for nobody else
	if err != nil {
		return saved, fmt.Errorf("the snapshot cannot be written: %w", err)
	}
	defer os.Remove(file.Name()) // unless it has another name by then
	if err := errors.Join(writeSnapshot(file, stream), file.Close()); err != nil {
		return saved, err
	}
	if saved, err = ReadSaved(file.Name()); err != nil {
		return saved, fmt.Errorf("what the daemon sent is not whole, nothing was saved: %w", err)
	}
	return saved, os.Rename(file.Name(), path)
}

// writeSnapshot writes what a stream brings to the disk.
func writeSnapshot(file *os.File, stream *connect.ServerStreamForClient[scorev1.SaveSnapshotResponse]) error {
	for stream.Receive() {
		if _, err := file.Write(stream.Msg().GetData()); err != nil {
			return err
		}
	}
	if err := stream.Err(); err != nil {
		return err
	}
	return file.Sync()
}

// Saved is a saved snapshot, read from its file.
type Saved struct {
	backup.Head
	State *state.State
	bytes int
}

// ReadSaved reads and verifies a saved snapshot.
func ReadSaved(path string) (saved Saved, err error) {
	file, err := os.Open(path)
	if err != nil {
		return saved, err
	}
	defer file.Close()
	head, data, err := backup.Read(file)
	if err != nil {
		return saved, fmt.Errorf("%s: %w", path, err)
	}
	restored, err := state.Restore(data)
	if err != nil {
		return saved, fmt.Errorf("%s: %s", path, err.Error()) // as text: that it ends early is no lost connection
	}
	return Saved{head, restored, len(data)}, nil
}

func (s Saved) sentence() string {
	return fmt.Sprintf(
		"cluster %s at %s: %s, %s, %s not ended, %s; %d bytes",
		printable(s.Cluster),
		time.Unix(0, s.SavedNanos).Format(time.DateTime),
		plural.Of(len(s.State.Users()), "user", "users"),
		plural.Of(len(s.State.Nodes()), "node", "nodes"),
		plural.Of(s.State.Unfinished(), "job that has", "jobs that have"),
		plural.Of(len(s.State.Finished()), "that has", "that have"),
		s.bytes,
	)
}

// snapshotData is a saved snapshot as --json shows it.
type snapshotData struct {
	Path       string `json:"path"`
	Cluster    string `json:"cluster"`
	Version    string `json:"version"`
	SavedNanos int64  `json:"saved_nanos"`
	Term       uint64 `json:"term"`
	Bytes      int    `json:"bytes"`
	Users      int    `json:"users"`
	Nodes      int    `json:"nodes"`
	Unfinished int    `json:"jobs_unfinished"`
	Finished   int    `json:"jobs_finished"`
	NextJob    uint64 `json:"next_job"`
	// DataDir is the directory that was filled with the snapshot.
	DataDir string `json:"data_dir,omitempty"`
}

func (s Saved) data(path string) snapshotData {
	return snapshotData{
		Path: path, Cluster: s.Cluster, Version: s.Version, SavedNanos: s.SavedNanos, Term: s.Term, Bytes: s.bytes,
		Users: len(s.State.Users()), Nodes: len(s.State.Nodes()),
		Unfinished: s.State.Unfinished(), Finished: len(s.State.Finished()), NextJob: s.State.NextJob(),
	}
}

// PrintRestored prints, for programs, the snapshot of the file at path that fills a data directory.
func (s Saved) PrintRestored(out io.Writer, path, dataDir string) error {
	data := s.data(path)
	data.DataDir = dataDir
	return printJSON(out, data)
}

func snapshotShowCommand() *cobra.Command {
	var asJSON bool
	command := &cobra.Command{
		Use:   "show FILE",
		Short: "check a saved snapshot and show what is in it",
		Args:  needs(1, "the file"),
		RunE: func(command *cobra.Command, arguments []string) error {
			saved, err := ReadSaved(arguments[0])
			if err != nil {
				return err
			}
			if !asJSON {
				_, err = fmt.Fprintln(command.OutOrStdout(), saved.sentence())
				return err
			}
			return printJSON(command.OutOrStdout(), saved.data(arguments[0]))
		},
	}
	AddJSON(command, &asJSON)
	return command
}
