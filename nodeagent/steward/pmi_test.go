package steward_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"score/nodeagent/steward/stewardpb"
	"score/scored/api/agentpb"
	"score/scored/api/scorev1"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// speak is a shell function: it sends a line on the PMI connection and waits
// for the answer, which is left in $a.
const speak = `say() { echo "$1" >&3; read -r a <&3; }
say "cmd=init pmi_version=1 pmi_subversion=1"
`

func speaking(script string) []string { return []string{"/bin/bash", "-c", speak + script} }

func needBash(t *testing.T) {
	t.Helper()
	if _, err := exec.LookPath("bash"); err != nil {
		t.Skip("bash is not installed")
	}
}

// twoNodes adds another node with one rank to the job.
func twoNodes(p *stewardpb.PrepareJob) {
	ranks := uint32(len(p.Job.Places[0].Ranks))
	p.Job.Places = append(p.Job.Places, &scorev1.NodePlace{Node: "n2", Ranks: []uint32{ranks}})
	p.Job.Spec.Tasks = ranks + 1
}

func TestPMIOnOneNode(t *testing.T) {
	needBash(t)
	a := start(t)
	a.run(4, speaking(`say "cmd=put kvsname=score_7 key=k$PMI_RANK value=v$PMI_RANK"
say "cmd=barrier_in"
say "cmd=get kvsname=score_7 key=k$(( (PMI_RANK + 1) % 4 ))"; echo "$a"
say "cmd=finalize"; echo "$a"`))
	out := readAll(t, a.stdio())
	for rank := range uint32(4) {
		want := "cmd=get_result rc=0 msg=success value=v" + string('0'+rune(rank+1)%4) + "\ncmd=finalize_ack\n"
		if got := out[stream{rank, 1}]; got != want {
			t.Errorf("rank %d: %q, want %q", rank, got, want)
		}
	}
	for rank, e := range a.exits() {
		if e.GetExitCode() != 0 || e.GetBeforeFinalize() {
			t.Errorf("rank %d: %v", rank, e)
		}
	}
}

func TestExitBeforeFinalizeEndsTheGang(t *testing.T) {
	needBash(t)
	a := start(t)
	a.run(2, speaking(`[ $PMI_RANK = 1 ] && exit 0; sleep 1000`))
	exits := a.exits()
	if e := exits[1]; !e.GetBeforeFinalize() || e.GetExitCode() != 0 || e.GetByUs() {
		t.Errorf("rank 1: %v", e)
	}
	if e := exits[0]; !e.GetByUs() || e.GetSignal() != int32(unix.SIGKILL) {
		t.Errorf("rank 0: %v", e)
	}
}

func TestConnectionClosedTooEarly(t *testing.T) {
	needBash(t)
	a := start(t)
	a.run(2, speaking(`[ $PMI_RANK = 1 ] && exec 3>&-; sleep 1000`))
	if m := a.abort(); m.GetRank() != 1 || !strings.Contains(m.GetMessage(), "without finalize") {
		t.Errorf("abort: %v", m)
	}
	a.exits()
}

func TestAbort(t *testing.T) {
	needBash(t)
	a := start(t)
	a.run(3, speaking(`[ $PMI_RANK = 2 ] && say "cmd=abort exitcode=17"; sleep 1000`))
	if m := a.abort(); m.GetRank() != 2 || m.GetExitCode() != 17 || m.GetJobId() != testJob {
		t.Errorf("abort: %v", m)
	}
	a.exits()
}

// Names that ranks publish, and the answers, are bytes; so are arguments, variables and
// directories.
func TestTextsThatAreNotUTF8(t *testing.T) {
	needBash(t)
	a := start(t)
	dir := filepath.Join(t.TempDir(), "d\xff")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	script := `[ "$1 $ODD ${PWD##*/}" = "$(printf 'a\376 v\375 d\377')" ] || exit 3
		printf 'cmd=init pmi_version=1 pmi_subversion=1\n' >&3; read -r line <&3
		printf 'cmd=publish_name service=s\377 port=p\376\n' >&3; read -r line <&3
		printf 'cmd=lookup_name service=s\377\n' >&3; read -r line <&3
		printf 'cmd=finalize\n' >&3; [[ $line = *"$(printf ' port=q\200 ')"* ]] || exit 4`
	a.run(1, []string{"/bin/bash", "-c", script, "bash", "a\xfe"}, func(p *stewardpb.PrepareJob) {
		p.Job.Spec.WorkDir = dir
		p.Job.Spec.Env = append(p.Job.Spec.Env, "ODD=v\xfd")
	})
	for i, port := range []string{"p\xfe", ""} {
		m := await(a, "NameRequest", i, (*stewardpb.FromSteward).GetName)
		if m.GetService() != "s\xff" || m.GetPort() != port {
			t.Errorf("name: %q", m)
		}
		a.do(a.conn.Name(&agentpb.NameReply{JobId: testJob, Request: m.GetRequest(), Ok: true, Port: "q\x80"}))
	}
	if e := a.exits()[0]; e.GetExitCode() != 0 || e.GetSignal() != 0 {
		t.Errorf("%v", e)
	}
}

func TestViolations(t *testing.T) {
	needBash(t)
	for name, line := range map[string]string{
		"malformed":    `echo "hello" >&3`,
		"out of order": `echo "cmd=get kvsname=score_7 key=x" >&3`,
		"too long":     `head -c 100000 /dev/zero | tr '\0' x >&3`,
		"binary":       `head -c 3000 /dev/urandom >&3; echo >&3`,
		"lying id":     `echo "cmd=initack pmiid=1" >&3`,
	} {
		t.Run(name, func(t *testing.T) {
			a := start(t)
			a.run(2, []string{"/bin/bash", "-c", `[ $PMI_RANK = 0 ] && { ` + line + `; }; sleep 1000`})
			m := a.abort()
			if m.GetRank() != 0 || m.GetExitCode() != 125 || !strings.Contains(m.GetMessage(), "rank 0") ||
				strings.Contains(m.GetMessage(), "\n") {
				t.Errorf("abort: %v", m)
			}
			for rank, e := range a.exits() {
				if !e.GetByUs() {
					t.Errorf("rank %d: %v", rank, e)
				}
			}
		})
	}
}

func TestARankThatNeverReadsItsAnswers(t *testing.T) {
	needBash(t)
	a := start(t)
	a.run(2, []string{"/bin/bash", "-c", `[ $PMI_RANK = 1 ] && { read go; exit 0; }
echo "cmd=init pmi_version=1 pmi_subversion=1" >&3; while :; do echo "cmd=get_maxes"; done >&3`})
	a.do(a.conn.AskRankStates(3)) // the steward goes on
	await(a, "states", 0, (*stewardpb.FromSteward).GetRankStates)
	if n := residentBytes(t, a.process.Pid); n > maxResident {
		t.Errorf("%d bytes resident", n)
	}
	a.do(a.conn.Kill())
	a.exits()
}

func TestFenceBetweenNodes(t *testing.T) {
	needBash(t)
	a, b := start(t), start(t)
	script := speaking(`say "cmd=put kvsname=score_7 key=k$PMI_RANK value=v$PMI_RANK"
say "cmd=barrier_in"
say "cmd=get kvsname=score_7 key=k$(( 2 - PMI_RANK ))"; echo "$a"
say "cmd=barrier_in"; say "cmd=finalize"`)
	a.run(2, script, twoNodes)
	b.run(2, script, twoNodes, func(p *stewardpb.PrepareJob) { p.Job.NodeIndex, p.Node = 1, "n2" })
	first := await(a, "a collective", 0, (*stewardpb.FromSteward).GetCollective)
	// An agent that is restarted now asks nobody: it is told again.
	a.conn.Close()
	a.dial()
	if again := await(a, "the collective again", 0, (*stewardpb.FromSteward).GetCollective); again.GetSequence() != first.GetSequence() {
		t.Errorf("sequence %d, then %d", first.GetSequence(), again.GetSequence())
	}
	for n := range 2 {
		ca := await(a, "a collective", n, (*stewardpb.FromSteward).GetCollective)
		cb := await(b, "a collective", n, (*stewardpb.FromSteward).GetCollective)
		result := &stewardpb.CollectiveResult{Kind: ca.GetKind(), Sequence: ca.GetSequence(), Data: [][]byte{ca.GetData(), cb.GetData()}}
		a.do(a.conn.Collective(result))
		a.do(a.conn.Collective(result)) // twice does no harm
		b.do(b.conn.Collective(result))
	}
	out, other := readAll(t, a.stdio()), readAll(t, b.stdio())
	for rank, got := range map[string]string{"2": out[stream{0, 1}], "0": other[stream{2, 1}]} {
		if want := "cmd=get_result rc=0 msg=success value=v" + rank + "\n"; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	a.exits()
	b.exits()
}

func TestFenceThatCannotComplete(t *testing.T) {
	needBash(t)
	a := start(t)
	a.run(1, speaking(`say "cmd=barrier_in"; exit 1`), twoNodes)
	c := await(a, "a collective", 0, (*stewardpb.FromSteward).GetCollective)
	a.do(a.conn.Collective(&stewardpb.CollectiveResult{Kind: c.GetKind(), Sequence: c.GetSequence(), Error: "node n2 was lost"}))
	if m := a.abort(); m.GetMessage() != "node n2 was lost" || m.GetRank() != -1 {
		t.Errorf("abort: %v", m)
	}
	a.exits()
}

func TestNames(t *testing.T) {
	needBash(t)
	a := start(t)
	a.run(1, speaking(`say "cmd=lookup_name service=ocean"; echo "$a"; say "cmd=publish_name service=sea port=p"; echo "$a"; say "cmd=finalize"`))
	r := await(a, "a name request", 0, (*stewardpb.FromSteward).GetName)
	if r.GetOp() != agentpb.NameOp_NAME_OP_LOOKUP || r.GetService() != "ocean" || r.GetJobId() != testJob {
		t.Errorf("request: %v", r)
	}
	a.do(a.conn.Name(&agentpb.NameReply{JobId: testJob, Request: r.GetRequest(), Ok: true, Port: "tag#0"}))
	r = await(a, "a name request", 1, (*stewardpb.FromSteward).GetName)
	a.do(a.conn.Name(&agentpb.NameReply{JobId: testJob, Request: r.GetRequest(), Error: "too many names"}))
	out := readAll(t, a.stdio())[stream{0, 1}]
	if !strings.Contains(out, "port=tag#0") || !strings.Contains(out, "msg=too_many_names") {
		t.Errorf("answers %q", out)
	}
	a.exits()
}

func TestSpawn(t *testing.T) {
	needBash(t)
	a := start(t)
	a.run(1, speaking(`printf '%s\n' mcmd=spawn nprocs=3 execname=child totspawns=1 spawnssofar=1 "arg1=a b" argcnt=1 \
  preput_num=1 preput_key_0=K preput_val_0=V info_num=2 info_key_0=wdir info_val_0=/tmp info_key_1=host info_val_1=x,y endcmd >&3
read -r a <&3; echo "$a"; say "cmd=finalize"`))
	r := await(a, "a spawn request", 0, (*stewardpb.FromSteward).GetSpawn)
	app := r.GetApps()[0]
	if len(r.GetApps()) != 1 || app.GetProgram() != "child" || app.GetTasks() != 3 || app.GetWorkDir() != "/tmp" ||
		strings.Join(app.GetHosts(), " ") != "x y" || strings.Join(app.GetArgs(), "|") != "a b" || r.GetPreput()["K"] != "V" {
		t.Errorf("request: %v", r)
	}
	a.do(a.conn.Spawn(&agentpb.SpawnReply{JobId: testJob, Request: r.GetRequest(), ChildJob: 8}))
	if out := readAll(t, a.stdio())[stream{0, 1}]; !strings.Contains(out, "rc=0") || !strings.Contains(out, "score_8") {
		t.Errorf("answer %q", out)
	}
	a.exits()
}

// TestSpawnedChildren has several programs in one job, each with arguments, variables
// and a directory of its own.
func TestSpawnedChildren(t *testing.T) {
	needBash(t)
	dir := t.TempDir()
	const script = `say "cmd=get_appnum"; echo "$0 $KIND $HOME $PWD $a"; say "cmd=finalize"`
	a := start(t)
	a.run(3, speaking(script), func(p *stewardpb.PrepareJob) {
		argv := p.Job.Spec.Argv
		p.Job.ParentJob, p.Job.Spec.Env, p.Job.Spec.WorkDir = 3, []string{"KIND=none", "HOME=/h"}, "/"
		p.Job.Spec.Commands = []*scorev1.Command{
			{Tasks: 1, Argv: append(slices.Clone(argv), "first"), Env: []string{"KIND=one", "PMI_RANK=9", "odd"}},
			{Tasks: 2, Argv: append(slices.Clone(argv), "second"), WorkDir: dir},
		}
	})
	out := readAll(t, a.stdio())
	for rank, want := range []string{
		"first one /h / cmd=appnum appnum=0\n",
		"second none /h " + dir + " cmd=appnum appnum=1\n",
		"second none /h " + dir + " cmd=appnum appnum=1\n",
	} {
		if got := out[stream{uint32(rank), 1}]; got != want {
			t.Errorf("rank %d: %q, want %q", rank, got, want)
		}
	}
	a.exits()
}

func TestSpawnedChild(t *testing.T) {
	needBash(t)
	a := start(t)
	a.run(1, speaking(`echo $PMI_SPAWNED; say "cmd=get kvsname=score_7 key=K"; echo "$a"
say "cmd=get_appnum"; echo "$a"; say "cmd=get_universe_size"; echo "$a"; say "cmd=finalize"`),
		func(p *stewardpb.PrepareJob) {
			p.Job.ParentJob, p.Job.Preput, p.Job.UniverseSize = 3, map[string]string{"K": "V"}, 12
		})
	out := readAll(t, a.stdio())[stream{0, 1}]
	want := "1\ncmd=get_result rc=0 msg=success value=V\ncmd=appnum appnum=0\ncmd=universe_size size=12\n"
	if out != want {
		t.Errorf("got %q, want %q", out, want)
	}
	a.exits()
}

// mpiHello is a whole MPI program: it sends a token around.
const mpiHello = "testdata/hello.c"

func TestMPICH(t *testing.T) {
	exe := buildC(t, "mpicc.mpich", mpiHello)
	a := start(t)
	a.run(4, []string{exe})
	out := readAll(t, a.stdio())
	for rank := range uint32(4) {
		want := "rank " + string('0'+rune(rank)) + " of 4, token 6\n"
		if got := out[stream{rank, 1}]; got != want {
			t.Errorf("rank %d: %q and %q", rank, got, out[stream{rank, 2}])
		}
	}
	for rank, e := range a.exits() {
		if e.GetExitCode() != 0 || e.GetSignal() != 0 {
			t.Errorf("rank %d: %v", rank, e)
		}
	}
}

func TestMPICHAborts(t *testing.T) {
	exe := buildC(t, "mpicc.mpich", mpiHello)
	a := start(t)
	a.run(2, []string{exe, "abort"})
	if m := a.abort(); m.GetRank() != 1 || m.GetExitCode() != 9 {
		t.Errorf("abort: %v", m)
	}
	a.exits()
}

func TestSilentMPIIsNoted(t *testing.T) {
	exe := buildC(t, "mpicc.mpich", mpiHello)
	a := start(t)
	a.run(2, []string{exe, "quit"}) // before MPI_Init
	if note := a.jobNote().GetText(); !strings.Contains(note, exe) || !strings.Contains(note, testNode) {
		t.Errorf("note %q", note)
	}
	a.exits()
}
