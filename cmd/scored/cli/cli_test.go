package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"score/scored/api/scorev1"
	"score/scored/client/clienttest"
	"score/tests/pinned"
	"strings"
	"testing"
	"time"
)

func TestMain(m *testing.M) {
	flag.Parse()
	time.Local = time.UTC // tables show local time
	os.Exit(m.Run())
}

// scored runs a command line against a daemon.
func scored(socket string, arguments ...string) (code int, out, errs string) {
	var stdout, stderr bytes.Buffer
	root := Root()
	root.SetOut(&stdout)
	root.SetErr(&stderr)
	code = Execute(root, append(arguments, "--cluster", socket))
	return code, stdout.String(), stderr.String()
}

// TestFullDisk: a command whose output cannot be written has failed.
func TestFullDisk(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip("there is no /dev/full")
	}
	defer full.Close()
	socket := clienttest.Serve(t, example(t))
	for _, line := range []string{"version", "job explain 4", "job list", "config list"} {
		var stderr bytes.Buffer
		root := Root()
		root.SetOut(full)
		root.SetErr(&stderr)
		code := Execute(root, append(strings.Fields(line), "--cluster", socket))
		if want := "scored: write /dev/full: no space left on device\n"; code != 1 || stderr.String() != want {
			t.Errorf("scored %s: exit code %d, %q; want 1, %q", line, code, stderr.String(), want)
		}
	}
}

// TestOutput pins what people and programs see; see testdata.
func TestOutput(t *testing.T) {
	socket := clienttest.Serve(t, example(t))
	pinned.File(t, "testdata/output.txt", transcript(t, socket,
		"job list", "job list --all", "job list --user bob", "job list --all --json",
		"job show 3", "job show 4", "job show 7", "job show 7 --json", "job show 2", "job show 3 --json",
		"job explain 4", "job explain 4 --json", "job attach -l 3",
		"node list", "node list --json", "node list n[2-3]", "node list n[3-9]", "node list -s drained,draining", "node list n2 -s up", "node list -s down",
		"node show n1", "node show n2", "node show n2 --json",
		"matrix", "matrix --json",
		"top --once", "top --once --sort messages", "top --once --sort colour", "top --interval 1ms", "top --once --json",
		"metrics", "metrics --json", "metrics switch", "metrics switch --job 3 --node n1 --json",
		"config list", "config list --json", "config get slice", "config get --json", "config set slice 10ms --json",
		"user list", "user list --json", "user show ann", "user show bob --json",
		"node drain n2 --json", "node drain n1 --requeue --timeout 1ms --reason disk --json", "node resume n1 n2 --json", "node remove n2 n1 --json",
		"user set ann role=operator share=200 jobs=none memory=2G time=12h --json",
		"history", "history --user ann -n 3 --since 2026-09-21", "history --json", "history --state cancelled", "job list --state done", "job list --json -n 2",
		"stage list", "stage clear",
		"version", "version --json",
	))
}

// transcript is what people see who type these lines.
func transcript(t *testing.T, socket string, lines ...string) string {
	t.Helper()
	var got strings.Builder
	for _, line := range lines {
		code, out, errs := scored(socket, strings.Fields(line)...)
		fmt.Fprintf(&got, "$ scored %s\n%s", line, out)
		if errs != "" {
			fmt.Fprintf(&got, "[stderr] %s", errs)
		}
		if code != 0 {
			fmt.Fprintf(&got, "[exit code %d]\n", code)
		}
		if strings.HasSuffix(line, "--json") {
			checkJSON(t, line, out)
		}
		got.WriteByte('\n')
	}
	return got.String()
}

// checkJSON demands one object with the schema's number.
func checkJSON(t *testing.T, line, out string) {
	t.Helper()
	var object struct {
		Schema int `json:"schema"`
	}
	if err := json.Unmarshal([]byte(out), &object); err != nil || object.Schema != schema {
		t.Errorf("%s: schema %d, %v", line, object.Schema, err)
	}
}

func TestActions(t *testing.T) {
	socket := clienttest.Serve(t, example(t))
	for line, want := range map[string]struct {
		code int
		errs string
	}{
		"job cancel 3 4":                 {},
		"job hold 4":                     {},
		"job hold 3 4":                   {1, "scored: job 3 does not wait any more\n"},
		"job hold":                       {1, "scored: name the jobs to hold, or choose them by --user, --state or --job-name\n"},
		"job release 4":                  {},
		"job release -u ann":             {},
		"job release 4 7":                {1, "scored: job 7 is held by root\n"},
		"job cancel 9 3 8":               {1, "scored: there is no job 9; there is no job 8\n"},
		"job cancel 9 9 9 9 9 9 9 9 9 9": {1, "scored: " + strings.Repeat("there is no job 9; ", 8) + "and 2 more\n"},
		"job cancel":                     {1, "scored: name the jobs to end, or choose them by --user, --state or --job-name\n"},
		"job cancel 3 -u ann":            {1, "scored: name jobs, or choose them by --user, --state and --job-name, not both\n"},
		"job cancel -u bob":              {0, "scored: there are no such jobs\n"},
		"job cancel -u ann":              {},
		"job cancel --user=":             {1, "scored: --user is empty; leave it out, or give it a value\n"},
		"job cancel --state=":            {1, "scored: --state is empty; leave it out, or give it a value\n"},
		"job cancel --job-name=":         {1, "scored: --job-name is empty; leave it out, or give it a value\n"},
		"job cancel -s done":             {1, "scored: --state \"done\": it is queued, starting, running, ending\n"},
		"job cancel x":                   {1, "scored: \"x\" is not a job number; 'scored job list' shows them\n"},
		"job cancel 0":                   {1, "scored: \"0\" is not a job number; 'scored job list' shows them\n"},
		"job requeue 3":                  {},
		"job requeue 3 4 --reason disk":  {1, "scored: job 4 waits in the queue\n"},
		"job requeue":                    {1, "scored: name the jobs to requeue, or choose them by --user, --state or --job-name\n"},
		"job requeue -u ann -s queued --reason disk": {},
		"job signal USR1 3":                          {},
		"job signal sigusr1 3 4":                     {},
		"job signal 10 3":                            {},
		"job signal 99 3":                            {1, "scored: there is no signal 99\n"},
		"job signal HELLO 3":                         {1, "scored: there is no signal \"HELLO\": give a name (USR1) or a number\n"},
		"job signal USR1":                            {1, "scored: name a signal and then the jobs, as in 'scored job signal USR1 7'\n"},
		"job signal 3":                               {1, "scored: name a signal and then the jobs, as in 'scored job signal USR1 7'\n"},
		"job signal USR1 -u ann":                     {},
		"job signal -u ann":                          {1, "scored: name a signal and then the jobs, as in 'scored job signal USR1 7'\n"},
		"job signal USR1 -u ann 3":                   {1, "scored: name jobs, or choose them by --user, --state and --job-name, not both\n"},
		"job wait -u ann -J ocean":                   {},
		"job wait":                                   {1, "scored: name the jobs to wait for, or choose them by --user, --state or --job-name\n"},
		"job wait 2":                                 {139, "scored: job 2: rank 0 on node n1 was killed by signal 11 (SIGSEGV); the job was ended\n"},
		"job wait 3":                                 {0, ""},
		"job wait 3 2 4":                             {139, "scored: job 2: rank 0 on node n1 was killed by signal 11 (SIGSEGV); the job was ended\n"},
		"job wait 9":                                 {125, "scored: there is no job 9\n"},
		"job attach 9":                               {125, "scored: there is no job 9\n"},
		"job attach 3 4":                             {1, "scored: name one job only\n"},
		"job show 9":                                 {1, "scored: there is no job 9\n"},
		"node show n9":                               {1, "scored: there is no node \"n9\"; 'scored node list' shows them\n"},
		"node drain n2":                              {},
		"node drain n1 --requeue --timeout 1ms --reason disk": {1, "scored: waiting for jobs: n1: 3 8\nscored: the nodes are drained, and still have jobs: n1: 3 8\n"},
		"node drain n9":      {1, "scored: there is no node n9\n"},
		"node drain n[9],n2": {1, "scored: there is no node n9\n"},
		"node drain n1,n9 --requeue --timeout 1ms --reason disk": {1, "scored: waiting for jobs: n1: 3 8\nscored: there is no node n9; the nodes are drained, and still have jobs: n1: 3 8\n"},
		"node drain n[2":                   {1, "scored: nodes \"n[2\": write it as n1,n2 or n[1-4,7]\n"},
		"node resume n1,n1 n[1]":           {},
		"node remove n[1-2]":               {1, "scored: node n2 was removed; its 2 certificates were revoked\nscored: node n1 has jobs\n"},
		"node drain n2 --wait --requeue":   {1, "scored: if any flags in the group [requeue wait] are set none of the others can be; [requeue wait] were all set\n"},
		"node drain":                       {1, "scored: name the nodes to drain\n"},
		"node resume n1 n2":                {1, "scored: node n2 is not drained\n"},
		"node remove n2":                   {0, "scored: node n2 was removed; its 2 certificates were revoked\n"},
		"node remove n1":                   {1, "scored: node n1 has jobs\n"},
		"config set slice 10ms":            {},
		"config set slice=10ms":            {},
		"config set slice=":                {1, "scored: slice \"\": write a time with its unit, 1ms to 1m\n"},
		"config set =10ms":                 {1, "scored: there is no setting \"\"; there are slice, max_rows, memory_per_cpu, age_per_point, weight_step, usage_half_life, fair_share, history, max_processes, node_silence, kill_wait\n"},
		"config set slice":                 {1, "scored: name a setting and its new value, as in: scored config set slice 10ms\n"},
		"config set slice fast":            {1, "scored: slice \"fast\": write a time with its unit, 1ms to 1m\n"},
		"config set slice -1s":             {1, "scored: unknown option -1; 'scored config set --help' lists the options\n"},
		"config set slice 0s":              {1, "scored: slice \"0s\": it is 1ms to 1m\n"},
		"config set max_rows 0":            {1, "scored: max_rows \"0\": write a number, 1 to 64\n"},
		"config get slice max_rows":        {1, "scored: name one setting, or none for all\n"},
		"config set memory_per_cpu":        {1, "scored: name a setting and its new value, as in: scored config set slice 10ms\n"},
		"config set color blue":            {1, "scored: there is no setting \"color\"; there are slice, max_rows, memory_per_cpu, age_per_point, weight_step, usage_half_life, fair_share, history, max_processes, node_silence, kill_wait\n"},
		"config set slcie 10ms":            {1, "scored: there is no setting \"slcie\"; did you mean slice?\n"},
		"config get max-rows":              {1, "scored: there is no setting \"max-rows\"; did you mean max_rows?\n"},
		"config set age_per_point 2h":      {1, "scored: age_per_point \"2h\": it is 100ms to 1h, or default\n"},
		"config set age_per_point default": {},
		"config set weight_step 0":         {1, "scored: weight_step \"0\": write a number, 1 to 1000000, or default\n"},
		"config set memory_per_cpu x":      {1, "scored: memory_per_cpu \"x\": write an amount of memory up to 1048576T, as in 512M, or share\n"},
		"config list slice":                {1, "scored: 'scored config list' takes no arguments, and slice is one; 'scored config list --help' explains it\n"},
		"config get color":                 {1, "scored: there is no setting \"color\"; there are slice, max_rows, memory_per_cpu, age_per_point, weight_step, usage_half_life, fair_share, history, max_processes, node_silence, kill_wait\n"},
		"user set ann role=operator share=200 jobs=none memory=2G time=12h":      {},
		"user set ann role=operator share=200 jobs=none memory=2G time=0d12h":    {},
		"user set ann role=operator share=200 jobs=none memory=2G time=12:00:00": {},
		"user set ann":                        {1, "scored: name a user and what to set, as in: scored user set ann share=200 cpus=64\n"},
		"user set ann colour=blue":            {1, "scored: a user has no \"colour\": it is role, share, jobs, running, cpus, memory, time, priority\n"},
		"user set ann role=king":              {1, "scored: role \"king\": it is user, operator or admin\n"},
		"user set ann role=unspecified":       {1, "scored: role \"unspecified\": it is user, operator or admin\n"},
		"user set ann jobs=x":                 {1, "scored: jobs \"x\": write a number above 0, or none\n"},
		"user set ann share=5 jobs=2 share=6": {1, "scored: share is given twice\n"},
		"user set ann time=9":                 {1, "scored: time \"9\": write a time with its unit, as in 90m, 12h or 2d, or with colons, as in 1-12:00:00, or none\n"},
		"user set ann time=0":                 {1, "scored: time \"0\": write a time with its unit, as in 90m, 12h or 2d, or with colons, as in 1-12:00:00, or none\n"},
		"user show":                           {1, "scored: name one user\n"},
		"history --state canceled":            {1, "scored: --state \"canceled\": it is exited, rank-failed, aborted, cancelled, time-limit, memory-limit, cannot-start, node-lost, cluster, deadlock; did you mean cancelled?\n"},
		"job list --state waiting":            {1, "scored: --state \"waiting\": it is queued, starting, running, ending, done\n"},
		"job list --since tomorrow":           {1, "scored: --since \"tomorrow\": write a time ago as in 90m or 2d, a day as in 2026-01-31, or 2026-01-31T12:00:00\n"},
		"history --since tomorrow":            {1, "scored: --since \"tomorrow\": write a time ago as in 90m or 2d, a day as in 2026-01-31, or 2026-01-31T12:00:00\n"},
		"config set fair_share x":             {1, "scored: fair_share \"x\": write a number, 0 to 100000, or default\n"},
		"config set usage_half_life 9":        {1, "scored: usage_half_life \"9\": write a time with its unit, 1m to 8784h, or default\n"},
		"job list --nosuch":                   {1, "scored: unknown option --nosuch; 'scored job list --help' lists the options\n"},
		"job list --json=x":                   {1, "scored: --json \"x\": it is true or false\n"},
		"history -n -1":                       {1, "scored: --limit \"-1\": write a whole number from 0 on\n"},
		"token remove":                        {1, "scored: name one token\n"},
		"token revoke":                        {1, "scored: name one token\n"},
		"token create --for 7":                {1, "scored: --for \"7\": write a time with its unit, as in 90m, 12h or 2d\n"},
		"cert revoke agent":                   {1, "scored: name the role and the name of a daemon, as in: scored cert revoke agent node7\n"},
		"squeue":                              {1, "scored: there is no command 'scored squeue': 'scored job list' lists the jobs\n"},
		"job suspend 3":                       {1, "scored: there is no command 'scored job suspend': a job that runs cannot be stopped; 'scored job hold' keeps one that waits from its start\n"},
		"node undrain n1":                     {1, "scored: there is no command 'scored node undrain': 'scored node resume' lets a drained node take jobs again\n"},
		"nosuch":                              {1, "scored: unknown command 'scored nosuch'; 'scored --help' lists the commands\n"},
	} {
		code, out, errs := scored(socket, strings.Fields(line)...)
		if code != want.code || errs != want.errs || out != "" {
			t.Errorf("scored %s: exit code %d, output %q, errors %q; want %d, %q", line, code, out, errs, want.code, want.errs)
		}
	}
}

func TestNoDaemon(t *testing.T) {
	missing := filepath.Join(t.TempDir(), "none", "s")
	code, _, errs := scored(missing, "job", "list")
	want := "scored: no daemon answers at " + missing + ", which --cluster names: no such file or directory; start it, or give another socket\n"
	if code != 1 || errs != want {
		t.Errorf("exit code %d, %q; want 1, %q", code, errs, want)
	}
	if code, out, errs := scored("embedded", "version"); code != 0 || !strings.HasPrefix(out, "scored ") {
		t.Errorf("the version without a daemon: exit code %d, %q, %q", code, out, errs)
	}
}

func TestEmptyMatrix(t *testing.T) {
	socket := clienttest.Serve(t, clienttest.Daemon{Matrix: func() *scorev1.GetMatrixResponse { return &scorev1.GetMatrixResponse{RowOn: -1} }})
	if code, out, errs := scored(socket, "matrix"); code != 0 || out != "no job runs\n" {
		t.Errorf("exit code %d, %q, %q", code, out, errs)
	}
}

func TestFormats(t *testing.T) {
	for want, got := range map[string]string{
		"0": shortTime(0), "999 ns": shortTime(999), "1.5 us": shortTime(1500), "12.3 ms": shortTime(12_300_000),
		"59.9 s": shortTime(59_900 * time.Millisecond), "0:01:00": shortTime(time.Minute),
		"2-3:04:05": clockTime(51*time.Hour + 4*time.Minute + 5*time.Second), "-1.0 s": shortTime(-time.Second),
		"1023": shortBytes(1023), "1K": shortBytes(1024), "1.5M": shortBytes(3 << 19), "16G": shortBytes(16 << 30),
		"2048T": shortBytes(1 << 51), "-": instant(0), "0-2,5": numbers([]uint32{0, 1, 2, 5}), "7": numbers([]uint32{7}),
	} {
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestExitError(t *testing.T) {
	cause := errors.New("cause")
	if err := (&ExitError{Code: 3, Err: cause}); !errors.Is(err, cause) || err.Error() != "cause" {
		t.Error(err)
	}
	if got := (&ExitError{Code: 3}).Error(); got != "exit code 3" {
		t.Error(got)
	}
}
