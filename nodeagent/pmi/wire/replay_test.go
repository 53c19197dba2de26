package wire

import (
	"bufio"
	"os"
	"path/filepath"
	"regexp"
	"score/nodeagent/pmi"
	"strconv"
	"strings"
	"testing"
)

// recordedJob describes a job of a recorded conversation.
type recordedJob struct {
	name     string
	rankNode []int32
}

// recordings are the conversations with ranks and times. A second job is one
// that the first has spawned.
var recordings = map[string][]recordedJob{
	"pmi1_hello2":      {{"kvs_19852_0", oneNode(2)}},
	"pmi1_hello4x2":    {{"kvs_19897_0", []int32{0, 0, 1, 1}}},
	"pmi1_port":        {{"kvs_20071_0", []int32{0, 0, 1}}},
	"pmi1_ch3_pub":     {{"kvs_28885_0", oneNode(2)}},
	"pmi1_ch3_spawn":   {{"kvs_32413_0", oneNode(2)}, {"kvs_32413_1", oneNode(3)}},
	"pmi1_abrt":        {{"kvs_23534_0", oneNode(2)}},
	"pmi2_libpmi2":     {{"job_14317_0", oneNode(2)}},
	"pmi2_mpich":       {{"job_24700_0", []int32{0, 0, 1}}},
	"pmi2_mpich_pub":   {{"job_24840_0", oneNode(2)}},
	"pmi2_mpich_spawn": {{"job_24792_0", oneNode(2)}, {"job_24792_1", oneNode(2)}},
}

func TestReplay(t *testing.T) {
	for file, jobs := range recordings {
		t.Run(file, func(t *testing.T) { newReplay(t, file, jobs).run() })
	}
}

// replay feeds a recording to servers and compares their replies.
type replay struct {
	t       *testing.T
	lines   []string
	planned []recordedJob
	jobs    []*testJob
	names   nameTable
	// framed marks who speaks PMI-2: the recording leaves the lengths out.
	framed  map[[2]int]bool
	replies int
}

func newReplay(t *testing.T, file string, jobs []recordedJob) *replay {
	r := &replay{t: t, lines: readLines(t, file), planned: jobs, framed: make(map[[2]int]bool)}
	r.names = nameTable{ports: make(map[string]string), lenient: strings.HasPrefix(file, "pmi2")}
	r.start(0, pmi.JobInfo{})
	return r
}

func readLines(t *testing.T, file string) []string {
	f, err := os.Open(filepath.Join("testdata", "transcripts", file+".txt"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var lines []string
	scanner := bufio.NewScanner(f)
	for scanner.Scan() {
		lines = append(lines, scanner.Text())
	}
	if err := scanner.Err(); err != nil {
		t.Fatal(err)
	}
	return lines
}

func (r *replay) start(n int, info pmi.JobInfo) {
	info.Job, info.KVSName, info.RankNode = uint64(n+1), r.planned[n].name, r.planned[n].rankNode
	job := newTestJob(r.t, info)
	job.onName, job.onSpawn = r.names.do, r.spawn
	r.jobs = append(r.jobs, job)
}

// spawn starts the second job of a recording.
func (r *replay) spawn(request *pmi.SpawnRequest) pmi.SpawnResult {
	r.start(1, pmi.JobInfo{SpawnerJob: r.planned[0].name, Preput: request.Preput})
	return pmi.SpawnResult{KVSName: r.planned[1].name, ErrCodes: make([]int, processes(request))}
}

// processes returns the requested number of processes.
func processes(r *pmi.SpawnRequest) int {
	total := 0
	for i := range r.Apps {
		total += r.Apps[i].MaxProcs
	}
	return total
}

var recordedLine = regexp.MustCompile(`^ *[0-9.]+ms job(\d) rank(\d+) (->|<-) (b?'.*'|b?".*")$`)

func (r *replay) run() {
	for at, text := range r.lines {
		if strings.Contains(text, " tcp -> ") {
			// A client that came over PMI_PORT; its rank is in the line.
			hello := unrepr(r.t, text[strings.Index(text, "b'"):])
			rank, _ := strconv.Atoi(strings.TrimSpace(hello[strings.LastIndex(hello, "=")+1:]))
			r.jobs[0].feed(rank, hello)
			continue
		}
		m := recordedLine.FindStringSubmatch(text)
		if m == nil {
			continue
		}
		job, _ := strconv.Atoi(m[1])
		rank, _ := strconv.Atoi(m[2])
		if m[3] == "->" {
			r.send(job, rank, unrepr(r.t, m[4]))
			continue
		}
		r.receive(at, job, rank, unrepr(r.t, m[4]))
	}
	r.finish()
}

func (r *replay) send(job, rank int, text string) {
	who := [2]int{job, rank}
	if r.framed[who] {
		text = frame2(text)
	} else {
		r.framed[who] = strings.Contains(text, "pmi_version=2")
		text = line1(text)
	}
	r.jobs[job].feed(rank, text)
}

// receive checks that the reply, which a rank had at this point, is there.
func (r *replay) receive(at, job, rank int, want string) {
	r.t.Helper()
	want = refusal(want)
	got := string(r.jobs[job].replies[rank])
	if !strings.HasPrefix(got, want) {
		r.t.Fatalf("line %d: job %d rank %d\n got %q\nwant %q", at+1, job, rank, got, want)
	}
	r.jobs[job].replies[rank] = r.jobs[job].replies[rank][len(want):]
	r.replies++
}

// refusal returns a recorded reply as ours: hydra says info=ok in refusals, too (see
// pmi1.infoFailed).
func refusal(recorded string) string {
	return strings.ReplaceAll(recorded, " info=ok rc=1 ", " info=fail rc=1 ")
}

// finish checks that nothing was said beyond the recording, and how it ended.
func (r *replay) finish() {
	if r.replies == 0 {
		r.t.Fatal("the recording has no replies")
	}
	for n, job := range r.jobs {
		for rank, rest := range job.replies {
			if len(rest) > 0 {
				r.t.Errorf("job %d rank %d: more than recorded: %q", n, rank, rest)
			}
		}
	}
	if strings.Contains(r.t.Name(), "abrt") {
		if abort := r.jobs[0].only(Abort); abort.Code != 7 || abort.Rank != 1 {
			r.t.Errorf("abort of rank %d with code %d, want 1 and 7", abort.Rank, abort.Code)
		}
		return
	}
	for n, job := range r.jobs {
		finalized := 0
		for _, effect := range job.others {
			switch effect.Kind {
			case Finalized:
				finalized++
			case Violation:
				r.t.Errorf("job %d: %v", n, effect.Err)
			default:
			}
		}
		if !strings.Contains(r.t.Name(), "libpmi2") && finalized != job.info.Size() {
			r.t.Errorf("job %d: %d of %d ranks finalized", n, finalized, job.info.Size())
		}
	}
}

// unrepr undoes the quoting of the recordings, which is Python's.
func unrepr(t *testing.T, text string) string {
	t.Helper()
	text = strings.TrimPrefix(text, "b")
	body := text[1 : len(text)-1]
	body = strings.ReplaceAll(body, `\'`, `'`)
	body = strings.ReplaceAll(body, `"`, `\"`)
	out, err := strconv.Unquote(`"` + body + `"`)
	if err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return out
}
