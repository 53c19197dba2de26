package hostile

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"score/scored/api/scorev1"
	"score/scored/client"
	"testing"

	"connectrpc.com/connect"
)

// filesVariable is the process whose files a player tries to reach.
const filesVariable = "SCORE_TEST_PID"

// refused is all that the output file of a job holds whose input file was refused.
var refused = regexp.MustCompile(
	`^score: job [0-9]+ did not start: node n[0-9]: cannot open the ranks' files: opening the input file: open /proc/[a-z0-9/]+: ` +
		`(permission denied|it is in /proc or leads through it, which would mean the daemon of the node; let the program open it)\n$`,
)

// files: no name of an input or output file leads where its user may not go himself: not by way of
// another's process into that one's directories, and not into the daemon. What is written for a
// user, he has written.
func (s *scene) files(t *testing.T) {
	private := filepath.Join(s.Dir, "private")
	work := filepath.Join(private, "work")
	s.Check(os.MkdirAll(work, 0o755))
	s.Check(os.Chmod(private, 0o700))
	s.Check(os.Chmod(work, 0o777)) //nolint:gosec // only the way to it is closed
	s.Check(os.WriteFile(filepath.Join(work, "secret"), []byte(secret), 0o644))
	cat := exec.CommandContext(t.Context(), "/bin/cat")
	cat.Dir = work
	in, err := cat.StdinPipe()
	s.Check(err)
	s.Check(cat.Start())
	defer func() { in.Close(); _ = cat.Wait() }()

	var got map[string]string
	line := start(t, s.Cluster, eve, "files", fmt.Sprint(filesVariable, "=", cat.Process.Pid)).line()
	s.Check(json.Unmarshal([]byte(line), &got))
	for name, text := range got {
		want := refused
		switch name {
		case "planted":
			want = regexp.MustCompile(`^$`)
		case "null":
			want = regexp.MustCompile(`^read$`)
		case "mode":
			want = regexp.MustCompile(`^-rw-rw-rw-$`)
		}
		if !want.MatchString(text) {
			t.Errorf("%s: %q", name, text)
		}
	}
	const parts = 7
	if len(got) != parts {
		t.Errorf("%d parts were played, not %d", len(got), parts)
	}
	if _, err := os.Stat(filepath.Join(work, "planted")); err == nil {
		t.Error("a file was planted in another's directory")
	}
}

// playFiles tells what its jobs read from files that are not its own, and what became of the mode
// of its output file.
func playFiles() error {
	dir, err := os.MkdirTemp("", "files")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	user := client.New(socket())
	defer user.Close()
	run := func(name, stdin, stdout, script string) error {
		spec := shortJob(name)
		spec.Argv, spec.StdinPattern, spec.StdoutPattern = []string{"/bin/sh", "-c", script}, stdin, stdout
		spec.WorkDir = dir
		reply, err := user.Jobs.Submit(context.Background(), connect.NewRequest(&scorev1.SubmitRequest{Spec: spec}))
		if err != nil {
			return err
		}
		_, err = user.Jobs.WaitJob(context.Background(), connect.NewRequest(&scorev1.WaitJobRequest{JobId: reply.Msg.GetJobId()}))
		return err
	}
	got := make(map[string]string)
	behind := "/proc/" + os.Getenv(filesVariable) + "/cwd/"
	for name, stdin := range map[string]string{
		"null": os.DevNull, "behind": behind + "secret", "maps": "/proc/self/maps", "descriptor": "/proc/self/fd/4", "iomem": "/proc/iomem",
	} {
		out := filepath.Join(dir, name)
		if err := run(name, stdin, out, "cat && printf read"); err != nil {
			return err
		}
		text, err := os.ReadFile(out)
		if err != nil && !os.IsNotExist(err) { // a job that cannot begin may have made none
			return err
		}
		got[name] = string(text)
	}
	if err := run("planted", "", behind+"planted", "echo planted"); err != nil {
		return err
	}
	got["planted"] = ""
	out := filepath.Join(dir, "out")
	// The file gets its mode while it is written to.
	if err := run("mode", "", out, "chmod 4666 out && echo more"); err != nil {
		return err
	}
	info, err := os.Stat(out)
	if err != nil {
		return err
	}
	got["mode"] = info.Mode().String()
	text, err := json.Marshal(got)
	if err != nil {
		return err
	}
	fmt.Println(string(text))
	return nil
}
