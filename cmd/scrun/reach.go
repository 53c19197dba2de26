package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"score/cmd/scored/parentwatch"
	"score/scored/client"
	"time"
)

// embeddedTimeout bounds the start of an embedded cluster. It takes some 30
// ms; a machine that swaps takes longer.
const embeddedTimeout = 30 * time.Second

// errNoDaemonProgram means that the embedded cluster's program is missing.
var errNoDaemonProgram = errors.New(
	"no cluster is configured on this host, and the program scored, which runs one for the job, is neither in scrun's directory nor in PATH: install it, or name a cluster's socket with --cluster",
)

// reached is the cluster that a job goes to.
type reached struct {
	*client.Client
	// own is the process of an embedded cluster, nil for another cluster.
	own *parentwatch.Child
}

// Close ends an embedded cluster and everything that it runs.
func (r *reached) Close() {
	r.Client.Close()
	if r.own != nil {
		r.own.Stop()
	}
}

// embed starts a cluster of this user on this machine.
func embed(ctx context.Context) (*reached, error) {
	program, err := findScored()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, embeddedTimeout,
		fmt.Errorf("the cluster for this job was not ready within %v", embeddedTimeout))
	defer cancel()
	command := exec.Command(program, "embedded")
	command.Stderr = os.Stderr
	own, err := parentwatch.Start(ctx, command)
	if err != nil {
		return nil, err
	}
	return &reached{Client: client.New(own.Said()), own: own}, nil
}

// findScored returns the path of scored. It prefers the program beside this one, since both must be
// of one version.
func findScored() (string, error) {
	if self, err := os.Executable(); err == nil {
		beside := filepath.Join(filepath.Dir(self), "scored")
		if isProgram(beside) {
			return beside, nil
		}
	}
	program, err := exec.LookPath("scored")
	if err != nil {
		return "", errNoDaemonProgram
	}
	return program, nil
}

func isProgram(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && info.Mode().Perm()&0o111 != 0
}
