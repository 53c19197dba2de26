package steward_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"score/nodeagent/steward/stewardpb"
	"score/scored/api/scorev1"
	"strconv"
	"strings"
	"testing"
	"time"
)

// residentBytes is what a process has in memory now.
func residentBytes(t testing.TB, pid int) int64 {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	if err != nil {
		t.Fatal(err)
	}
	pages, err := strconv.ParseInt(strings.Fields(string(text))[1], 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return pages * int64(os.Getpagesize())
}

func TestOutputOfManyRanks(t *testing.T) {
	if testing.Short() {
		t.Skip("waits for seconds; run without -short")
	}
	a := start(t)
	s := a.stdio() // before there is a job
	a.run(16, sh("echo out $SCORE_RANK; echo err $SCORE_RANK >&2; printf end"))
	out := readAll(t, s)
	for rank := range uint32(16) {
		if got, want := out[stream{rank, 1}], fmt.Sprintf("out %d\nend", rank); got != want {
			t.Errorf("rank %d's output is %q", rank, got)
		}
		if got, want := out[stream{rank, 2}], fmt.Sprintf("err %d\n", rank); got != want {
			t.Errorf("rank %d's errors are %q", rank, got)
		}
	}
}

func TestFloodWithASlowReader(t *testing.T) {
	if testing.Short() {
		t.Skip("waits for seconds; run without -short")
	}
	const bound = maxResident
	a := start(t)
	a.run(1, sh("exec head -c 1000000000 /dev/zero"))
	pid := a.process.Pid
	s := a.stdio()
	// Slow: the first pieces are taken one by one, each looked at for memory.
	total := int64(0)
	for i := range 200 {
		out, _, err := s.Receive()
		if err != nil {
			t.Fatal(err)
		}
		total += int64(len(out.GetData()))
		if i%50 == 0 && residentBytes(t, pid) > bound {
			t.Fatalf("%d bytes resident", residentBytes(t, pid))
		}
	}
	if !alive(int(a.launched().GetPids()[0])) {
		t.Error("the rank was not stopped by its full pipe")
	}
	largest := int64(0)
	for n := 0; ; n++ {
		out, drained, err := s.Receive()
		if err != nil {
			t.Fatal(err)
		}
		if drained {
			break
		}
		total += int64(len(out.GetData()))
		if n%1000 == 0 {
			largest = max(largest, residentBytes(t, pid))
		}
	}
	if total != 1000000000 {
		t.Errorf("%d bytes arrived", total)
	}
	t.Logf("at most %d MB resident", largest>>20)
	if largest > bound {
		t.Errorf("%d bytes resident", largest)
	}
	a.exits()
}

func TestNobodyReads(t *testing.T) {
	a := start(t)
	fifo := makeFIFO(t)
	a.run(1, sh("echo begin; echo >"+fifo.path+"; exec head -c 100000000 /dev/zero"))
	fifo.read(t)
	a.do(a.conn.AskRankStates(1)) // PMI and control go on
	a.do(a.conn.Kill())
	a.exits()
	a.do(a.conn.Forget()) // what is in the pipe is still owed
	if out := readAll(t, a.stdio())[stream{0, 1}]; !strings.HasPrefix(out, "begin\n") {
		t.Errorf("what the rank had written is lost: %d bytes arrived", len(out))
	}
	a.left()
}

func TestANewReaderWins(t *testing.T) {
	a := start(t)
	fifo := makeFIFO(t)
	a.run(2, sh(`[ $SCORE_RANK = 0 ] && { echo zero; exit 0; }; echo one; read x <`+fifo.path+`; echo two`))
	first := a.stdio()
	for seen := ""; seen != "one\n"; {
		out, _, err := first.Receive()
		if err != nil {
			t.Fatal(err)
		}
		if out.GetRank() == 1 {
			seen += string(out.GetData())
		}
	}
	second := a.stdio()
	if _, _, err := first.Receive(); err == nil {
		// The end of rank 0's streams may come before the connection's.
		for err == nil {
			_, _, err = first.Receive()
		}
	}
	fifo.write(t, "\n")
	out := readAll(t, second) // it checks that rank 0's end is told again
	if _, told := out[stream{0, 1}]; out[stream{1, 1}] != "two\n" || !told {
		t.Errorf("second reader got %v", out)
	}
}

// A reader that comes before the last one has confirmed an end hears of it once.
func TestAnEndThatIsKeptIsToldOnce(t *testing.T) {
	a := start(t)
	fifo := makeFIFO(t)
	a.run(2, sh(`[ $SCORE_RANK = 0 ] && { echo zero; exit 0; }; read x <`+fifo.path+`; echo one`))
	first := a.openStdio(testJob) // it confirms nothing
	for ended := false; !ended; {
		out, _, err := first.Receive()
		if err != nil {
			t.Fatal(err)
		}
		ended = out.GetRank() == 0 && out.GetStream() == 1 && out.GetEof()
	}
	second := a.stdio()
	fifo.write(t, "\n")
	out := readAll(t, second) // it fails for a second end
	if out[stream{0, 1}] != "zero\n" || out[stream{1, 1}] != "one\n" {
		t.Errorf("second reader got %v", out)
	}
	a.exits()
}

// echoed sends input in pieces, ends it, and returns what the ranks echo.
func echoed(t *testing.T, s *reader, pieces ...string) map[stream]string {
	t.Helper()
	go func() {
		for _, p := range pieces {
			if s.Send(&scorev1.Stdin{Data: []byte(p)}) != nil {
				return
			}
		}
		_ = s.Send(&scorev1.Stdin{Eof: true})
	}()
	return readAll(t, s)
}

func TestStdin(t *testing.T) {
	for _, tt := range []struct {
		mode scorev1.StdinMode
		want [2]string
	}{
		{scorev1.StdinMode_STDIN_MODE_UNSPECIFIED, [2]string{"one two", ""}},
		{scorev1.StdinMode_STDIN_MODE_RANK0, [2]string{"one two", ""}},
		{scorev1.StdinMode_STDIN_MODE_ALL, [2]string{"one two", "one two"}},
		{scorev1.StdinMode_STDIN_MODE_NONE, [2]string{"", ""}},
	} {
		t.Run(tt.mode.String(), func(t *testing.T) {
			a := start(t)
			a.run(2, []string{"cat"}, withSpec(func(s *scorev1.JobSpec) { s.Stdin = tt.mode }))
			out := echoed(t, a.stdio(), "one ", "two")
			for rank, want := range tt.want {
				if got := out[stream{uint32(rank), 1}]; got != want {
					t.Errorf("rank %d got %q, want %q", rank, got, want)
				}
			}
		})
	}
}

func TestMuchStdinToAll(t *testing.T) {
	a := start(t)
	a.run(3, []string{"cksum"}, withSpec(func(s *scorev1.JobSpec) { s.Stdin = scorev1.StdinMode_STDIN_MODE_ALL }))
	piece := strings.Repeat("0123456789abcdef", 2<<10)
	pieces := make([]string, 300)
	for i := range pieces {
		pieces[i] = piece
	}
	out := echoed(t, a.stdio(), pieces...)
	for rank := range uint32(3) {
		if got := out[stream{rank, 1}]; got != out[stream{0, 1}] || !strings.Contains(got, fmt.Sprint(300*len(piece))) {
			t.Errorf("rank %d: %q", rank, got)
		}
	}
}

func TestStdinIsHeldBack(t *testing.T) {
	a := start(t)
	fifo := makeFIFO(t)
	a.run(1, sh("read x <"+fifo.path+"; exec wc -c"))
	s := a.stdio()
	const pieces, size = 3000, 32 << 10
	sent := make(chan error, 1)
	go func() {
		data := bytes.Repeat([]byte{'x'}, size)
		for range pieces {
			if err := s.Send(&scorev1.Stdin{Data: data}); err != nil {
				sent <- err
				return
			}
		}
		sent <- s.Send(&scorev1.Stdin{Eof: true})
	}()
	a.do(a.conn.AskRankStates(1))
	if n := residentBytes(t, a.process.Pid); n > maxResident {
		t.Errorf("%d bytes resident", n)
	}
	select {
	case err := <-sent:
		t.Fatalf("all was taken though the rank does not read (%v)", err)
	default:
	}
	fifo.write(t, "\n")
	out := readAll(t, s)
	if err := <-sent; err != nil {
		t.Error(err)
	}
	if got := strings.TrimSpace(out[stream{0, 1}]); got != fmt.Sprint(pieces*size) {
		t.Errorf("the rank read %s bytes", got)
	}
}

func TestStdinThatNobodyReads(t *testing.T) {
	a := start(t)
	a.run(2, sh("exec <&-; echo closed; exit 0"),
		withSpec(func(s *scorev1.JobSpec) { s.Stdin = scorev1.StdinMode_STDIN_MODE_ALL }))
	a.exits()
	out := echoed(t, a.stdio(), strings.Repeat("x", 200<<10))
	if out[stream{1, 1}] != "closed\n" {
		t.Errorf("output %v", out)
	}
}

func TestStdinFiles(t *testing.T) {
	a := start(t)
	dir := t.TempDir()
	for rank := range 2 {
		if err := os.WriteFile(fmt.Sprintf("%s/in.%d", dir, rank), fmt.Appendf(nil, "for %d", rank), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	a.run(2, []string{"cat"}, withSpec(func(s *scorev1.JobSpec) { s.StdinPattern, s.WorkDir = "in.%t", dir }))
	out := readAll(t, a.stdio())
	if out[stream{0, 1}] != "for 0" || out[stream{1, 1}] != "for 1" {
		t.Errorf("output %v", out)
	}
}

func TestDetachedFiles(t *testing.T) {
	a := start(t)
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "out-7.1"), []byte("old content\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	a.run(2, sh("echo one; echo two >&2; printf unterminated"), withSpec(func(s *scorev1.JobSpec) {
		s.Detached, s.WorkDir, s.Umask = true, dir, 0o27
		s.StdoutPattern, s.StderrPattern = "out-%j.%t", dir+"/err-%N"
	}))
	a.done()
	a.do(a.conn.Forget())
	a.left() // at the latest then all is on disk
	for name, want := range map[string]string{
		"out-7.0": "one\nunterminated", "out-7.1": "one\nunterminated", "err-n1": "two\ntwo\n",
	} {
		if got, err := os.ReadFile(filepath.Join(dir, name)); err != nil || string(got) != want {
			t.Errorf("%s holds %q, want %q (%v)", name, got, want, err)
		}
	}
	if info, err := os.Stat(filepath.Join(dir, "out-7.0")); err != nil || info.Mode().Perm() != 0o640 {
		t.Errorf("mode of the file: %v (%v)", info.Mode(), err)
	}
}

// Nobody is attached to a detached job that cannot start: its file says why. The nodes may share
// the file, so only the first writes it.
func TestADetachedJobThatCannotStartSaysWhyInItsFile(t *testing.T) {
	toFiles := func(dir string, node uint32) change {
		return func(p *stewardpb.PrepareJob) {
			p.Job.Spec.Detached, p.Job.Spec.Label, p.Job.Spec.WorkDir = true, true, dir
			p.Job.Spec.StdoutPattern, p.Job.Spec.StderrPattern = "out", "err.%t"
			if node != 0 {
				here := p.Job.Places[0]
				p.Job.NodeIndex = node
				p.Job.Places = []*scorev1.NodePlace{{Node: "n0", Ranks: []uint32{2}}, here}
				p.Job.Spec.Tasks = 3
			}
		}
	}
	expect := func(t *testing.T, dir string, want map[string]string) {
		t.Helper()
		for name, want := range want {
			got, err := os.ReadFile(filepath.Join(dir, name))
			if err != nil && want != "" || string(got) != want {
				t.Errorf("%s holds %q, want %q (%v)", name, got, want, err)
			}
		}
	}
	end := func(a *agent) {
		a.do(a.conn.Forget())
		a.left()
	}
	t.Run("no program", func(t *testing.T) {
		a, dir := start(t), t.TempDir()
		a.do(a.conn.Prepare(a.order(2, []string{"./none"}, toFiles(dir, 0))))
		line := "score: job 7 did not start: " + a.prepared().GetError() + "\n"
		expect(t, dir, map[string]string{"err.0": line, "err.1": "", "out": ""})
		end(a)
	})
	t.Run("no program on another node", func(t *testing.T) {
		a, dir := start(t), t.TempDir()
		a.ready(a.order(2, []string{"true"}, toFiles(dir, 0)))
		a.do(a.conn.Reason("node n2: ./none: no such file"))
		a.do(a.conn.Kill())
		a.done()
		end(a)
		expect(t, dir, map[string]string{"err.0": "score: job 7 did not start: node n2: ./none: no such file\n", "err.1": "", "out": ""})
	})
	for _, program := range []string{"./none", "true"} {
		t.Run("killed before its files were there, "+program, func(t *testing.T) {
			a, dir := start(t), t.TempDir()
			order := a.order(2, []string{program}, toFiles(dir, 0))
			order.KilledFor = "node n2: the file is lost"
			a.do(a.conn.Prepare(order))
			a.prepared()
			if program == "true" {
				a.do(a.conn.Reason(order.GetKilledFor()))
				a.do(a.conn.Kill())
				a.done()
			}
			end(a)
			expect(t, dir, map[string]string{"err.0": "score: job 7 did not start: node n2: the file is lost\n", "err.1": "", "out": ""})
		})
	}
	t.Run("not the first node", func(t *testing.T) {
		a, dir := start(t), t.TempDir()
		a.do(a.conn.Prepare(a.order(2, []string{"./none"}, toFiles(dir, 1))))
		a.prepared()
		end(a)
		expect(t, dir, map[string]string{"err.0": "", "err.1": "", "out": ""})
	})
}

func TestDetachedTogetherWithLabels(t *testing.T) {
	a := start(t)
	path := filepath.Join(t.TempDir(), "all")
	// Every line comes in two halves; the streams of a rank keep their order.
	a.run(4, sh("for i in 1 2 3; do printf 'o'; echo $i; echo e$i >&2; done"), withSpec(func(s *scorev1.JobSpec) {
		s.Detached, s.Label, s.StdoutPattern = true, true, path
	}))
	a.done()
	a.do(a.conn.Forget())
	a.left()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	byRank := make(map[string]string)
	for line := range strings.Lines(string(text)) {
		rank, rest, ok := strings.Cut(line, ": ")
		if !ok {
			t.Errorf("line %q has no label", line)
		}
		byRank[rank] += strings.TrimSpace(rest) + " "
	}
	for rank := range 4 {
		if got := byRank[fmt.Sprint(rank)]; got != "o1 e1 o2 e2 o3 e3 " {
			t.Errorf("rank %d: %q", rank, got)
		}
	}
}

func TestALateReaderDoesNotStopADetachedJob(t *testing.T) {
	a := start(t)
	path := filepath.Join(t.TempDir(), "out")
	a.ready(a.order(1, sh("exec head -c 50000000 /dev/zero"), withSpec(func(s *scorev1.JobSpec) {
		s.Detached, s.StdoutPattern = true, path
	})))
	s := a.stdio() // reads nothing
	a.do(a.conn.Launch())
	a.exits()
	for {
		_, drained, err := s.Receive()
		if drained {
			t.Error("a reader that read nothing got everything")
		}
		if err != nil {
			break // it was dropped
		}
	}
	a.do(a.conn.Forget())
	a.left()
	if info, err := os.Stat(path); err != nil || info.Size() != 50000000 {
		t.Errorf("the file: %v (%v)", info, err)
	}
}

// A watcher sees what comes from when it is there, so the rank goes on until it
// has been seen.
func TestADetachedJobCanBeWatched(t *testing.T) {
	a := start(t)
	a.ready(a.order(1, sh("while :; do echo hello; echo oops >&2; sleep 0.01; done"), withSpec(func(s *scorev1.JobSpec) {
		s.Detached = true // and no file at all
	})))
	s := a.stdio()
	a.do(a.conn.Launch())
	for seen := ""; !strings.Contains(seen, "hello\noops\n"); {
		out, _, err := s.Receive()
		if err != nil {
			t.Fatal(err)
		}
		if out.GetStream() != 1 {
			t.Fatalf("both streams go one way, this came on %d", out.GetStream())
		}
		seen += string(out.GetData())
	}
	a.do(a.conn.Kill())
	a.exits()
}

func TestAFullDiskIsTold(t *testing.T) {
	if _, err := os.Stat("/dev/full"); err != nil {
		t.Skip("no /dev/full")
	}
	a := start(t)
	a.run(1, sh("echo lost; exit 3"), withSpec(func(s *scorev1.JobSpec) {
		s.Detached, s.StdoutPattern = true, "/dev/full"
	}))
	if note := a.jobNote().GetText(); !strings.Contains(note, "/dev/full") || !strings.Contains(note, "rank 0") {
		t.Errorf("note %q", note)
	}
	if e := a.exits()[0]; e.GetExitCode() != 3 {
		t.Errorf("the rank: %v", e)
	}
}

func TestIdleStewardIsSmall(t *testing.T) {
	if testing.Short() {
		t.Skip("waits for seconds; run without -short")
	}
	a := start(t)
	a.run(64, []string{"sleep", "1000"})
	a.launched()
	deadline := time.Now().Add(timeout)
	n := residentBytes(t, a.process.Pid)
	for n > maxResident && time.Now().Before(deadline) {
		n = residentBytes(t, a.process.Pid)
	}
	t.Logf("%d MB resident with 64 ranks", n>>20)
	if n > maxResident {
		t.Errorf("%d bytes resident", n)
	}
	a.do(a.conn.Kill())
	a.exits()
}
