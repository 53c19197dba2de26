package cli

import (
	"bytes"
	"encoding/json"
	"score/scored/api/scorev1"
	"slices"
	"strings"
	"testing"
)

// JSON shows what is not UTF-8 with escapes, and has its bytes beside them.
func TestJobDataOfBytes(t *testing.T) {
	odd := &scorev1.JobSpec{Argv: []string{"./a\xff", "plain"}, WorkDir: "/d\xfe"}
	verdict := &scorev1.Verdict{Message: "/a\xff does not exist"}
	var out bytes.Buffer
	if err := printJSON(&out, newJobData(&scorev1.Job{Spec: odd, Because: "\xfd", Verdict: verdict})); err != nil {
		t.Fatal(err)
	}
	var got struct {
		Command       []string
		CommandBase64 [][]byte `json:"command_base64"`
		Directory     string
		DirectoryBase []byte `json:"directory_base64"`
		Because       string
		Verdict       struct{ Message string }
	}
	if err := json.Unmarshal(out.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(got.Command, []string{`./a\xff`, "plain"}) || len(got.CommandBase64) != 2 || string(got.CommandBase64[0]) != "./a\xff" ||
		got.Directory != `/d\xfe` || string(got.DirectoryBase) != "/d\xfe" || got.Because != `\xfd` || got.Verdict.Message != `/a\xff does not exist` {
		t.Errorf("%s", out.String())
	}
	out.Reset()
	if err := printJSON(
		&out,
		newJobData(&scorev1.Job{Spec: &scorev1.JobSpec{Argv: []string{"ä"}, WorkDir: "/ö"}}),
	); err != nil ||
		strings.Contains(out.String(), "base64") {
		t.Errorf("%s, %v", out.String(), err)
	}
}

// TestHeldJob: lists and top say that a job is held, and by whom.
func TestHeldJob(t *testing.T) {
	job := exampleHeld()
	if got := jobStateWord(job) + ", " + whereWords(job); got != "held, waits for its release: held by root and job 3 to end with exit code 0" {
		t.Errorf("list: %q", got)
	}
	if got := topStateWord(&scorev1.TopJob{State: job.GetState(), Hold: job.GetHold()}); got != "held by root" {
		t.Errorf("top: %q", got)
	}
}
