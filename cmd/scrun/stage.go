package main

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"score/cmd/scrun/options"
	"score/nodeagent/launch"
	"score/nodeagent/pmi/mpidetect"
	"score/scored/api"
	"score/scored/api/environ"
	"score/scored/api/scorev1"
	"score/scored/client"
	"strings"
	"time"

	"connectrpc.com/connect"
	"golang.org/x/sys/unix"
)

// stageChunk is the number of bytes of a file in one message.
const stageChunk = 256 << 10

// stage copies the files that the user asked for to the cluster, and lists them in the job.
func (s *submission) stage(ctx context.Context) error {
	o, spec := s.options, s.spec
	if !o.Stages() {
		return nil
	}
	// The nodes must have a directory that was named with --chdir; they may lack the current one.
	spec.AnyDirectory = o.Dir == ""
	_, err := unlessInterrupted(ctx, func(ctx context.Context) (struct{}, error) {
		sources, err := stageSources(o, spec, os.Getenv("LD_LIBRARY_PATH"))
		if err != nil {
			return struct{}{}, err
		}
		if spec.Staged, err = digestAll(ctx, sources); err != nil {
			return struct{}{}, err
		}
		return struct{}{}, upload(ctx, s.patience(), func() error { return send(ctx, s.messages, s.cluster, spec, sources) })
	})
	return err
}

// upload calls send until the cluster has the files. When a server or the node that takes them is
// lost, it begins again: what has arrived whole is not sent twice.
func upload(ctx context.Context, patience client.Patience, send func() error) error {
	for wait := patience.NewWait(); ; {
		err := send()
		if _, ofCall := errors.AsType[*connect.Error](err); !ofCall || !mayComeBack(err) ||
			ctx.Err() != nil || !wait.Continue(time.Now(), err) {
			return err
		}
		pause(ctx, attachPause)
	}
}

// digestAll reads the files, whose digests go into the job.
func digestAll(ctx context.Context, sources []*source) (files []*scorev1.StagedFile, err error) {
	room := int64(api.MaxStagedBytes)
	for _, s := range sources {
		if err := s.digest(ctx, room); err != nil {
			return nil, err
		}
		room -= int64(s.file.GetSize())
		files = append(files, s.file)
	}
	return files, nil
}

// source is a file of this host that is copied.
type source struct {
	path string
	file *scorev1.StagedFile
}

func stageSources(o *options.Options, spec *scorev1.JobSpec, libraryPath string) (sources []*source, err error) {
	add := func(path, name string, kind scorev1.StagedKind) {
		sources = append(sources, &source{path, &scorev1.StagedFile{Name: name, Kind: kind}})
	}
	if o.Stage != options.StageNone {
		program, err := stagedProgram(spec)
		if err != nil {
			return nil, err
		}
		add(program, filepath.Base(program), scorev1.StagedKind_STAGED_KIND_PROGRAM)
		libraries, err := stagedLibraries(o.Stage, program, libraryPath)
		if err != nil {
			return nil, err
		}
		for _, l := range libraries {
			add(l.Path, l.Name, scorev1.StagedKind_STAGED_KIND_LIBRARY)
		}
	}
	for _, path := range o.StageFiles {
		add(path, filepath.Base(path), scorev1.StagedKind_STAGED_KIND_FILE)
	}
	return sources, nil
}

func stagedProgram(spec *scorev1.JobSpec) (string, error) {
	path := cmp.Or(environ.Value(spec.GetEnv(), "PATH"), launch.DefaultPath)
	program, err := launch.Resolve(spec.GetArgv()[0], spec.GetWorkDir(), path, nil)
	if err != nil {
		return "", fmt.Errorf("--stage: %w", err)
	}
	return program, nil
}

func stagedLibraries(how options.Stage, program, libraryPath string) (wanted []mpidetect.Library, err error) {
	if how == options.StageProgram {
		return nil, nil
	}
	all, err := mpidetect.Libraries(program, libraryPath)
	if err != nil {
		return nil, fmt.Errorf("--stage: %w; --stage=program sends none", err)
	}
	for _, l := range all {
		// The loader looks for a library that is named by a path only at that path, and the C
		// library must fit the node's loader.
		if strings.Contains(l.Name, "/") || l.Base || l.System && how != options.StageAll {
			continue
		}
		wanted = append(wanted, l)
	}
	return wanted, nil
}

// digest reads the file once, for its length and digest. There is room for so many bytes: a larger
// one is refused before it is read, which may take hours.
func (s *source) digest(ctx context.Context, room int64) error {
	file, err := s.open()
	if err != nil {
		return err
	}
	defer file.Close()
	if info, err := file.Stat(); err == nil && info.Size() > room {
		return api.ErrStagedBytes
	}
	sum, n, buffer := sha256.New(), int64(0), make([]byte, stageChunk)
	for {
		k, err := file.Read(buffer)
		n += int64(k)
		_, _ = sum.Write(buffer[:k]) // it never fails
		switch {
		case errors.Is(err, io.EOF):
			s.file.Size, s.file.Sha256 = uint64(n), sum.Sum(nil)
			return nil
		case err != nil:
			return fmt.Errorf("cannot stage the file %s: %w", s.path, err)
		case n > room: // it grows, or has no length, as in /proc
			return api.ErrStagedBytes
		case ctx.Err() != nil:
			return ctx.Err()
		}
	}
}

// open opens the file. O_NONBLOCK keeps it from blocking on a pipe.
func (s *source) open() (*os.File, error) {
	file, err := os.OpenFile(s.path, os.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, fmt.Errorf("cannot stage the file: %w", err)
	}
	if info, err := file.Stat(); err != nil || !info.Mode().IsRegular() {
		file.Close()
		return nil, fmt.Errorf("cannot stage %s: it is not a regular file", s.path)
	}
	return file, nil
}

// send uploads the files that the cluster does not have yet.
func send(ctx context.Context, messages messenger, cluster *connection, spec *scorev1.JobSpec, sources []*source) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream := cluster.Jobs.Stage(ctx)
	first := &scorev1.StageRequest{Part: &scorev1.StageRequest_Files{Files: &scorev1.StageFiles{
		Files: spec.GetStaged(), NodeList: spec.GetNodeList(), ExcludeList: spec.GetExcludeList(),
	}}}
	// Receive returns the daemon's reason for refusing a message.
	if err := stream.Send(first); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	reply, err := stream.Receive()
	if err != nil {
		return err
	}
	for _, i := range reply.GetMissing() {
		if int(i) >= len(sources) {
			return errors.New("the cluster asked for a file that is not staged")
		}
		if err := sources[i].send(stream.Send); err != nil && !errors.Is(err, io.EOF) {
			return err
		}
	}
	messages.note("sent %d of %d staged files to node %s, which had the others", len(reply.GetMissing()), len(sources), reply.GetNode())
	last, err := stream.Receive()
	if err != nil {
		return err
	}
	if !last.GetWhole() {
		return errors.New("the cluster did not accept the staged files")
	}
	spec.StageSeed = last.GetNode()
	return nil
}

func (s *source) send(message func(*scorev1.StageRequest) error) error {
	file, err := s.open()
	if err != nil {
		return err
	}
	defer file.Close()
	buffer := make([]byte, stageChunk)
	for left := s.file.GetSize(); left > 0; {
		n, err := io.ReadFull(file, buffer[:min(left, stageChunk)])
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) { // as errors of the stream they would mean something else
			return fmt.Errorf("the file %s became shorter while it was sent: try again when nothing writes to it", s.path)
		}
		if err != nil {
			return fmt.Errorf("cannot stage the file %s: %w", s.path, err)
		}
		if err := message(&scorev1.StageRequest{Part: &scorev1.StageRequest_Data{Data: buffer[:n]}}); err != nil {
			return err
		}
		left -= uint64(n)
	}
	return nil
}
