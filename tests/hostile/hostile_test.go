package hostile

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"path"
	"score/scored/api/scorev1"
	"score/tests/daemons"
	"score/tests/daemons/daemonstest"
	"slices"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"
	"golang.org/x/sync/errgroup"
	"google.golang.org/protobuf/encoding/protojson"
)

const (
	// secret is in all of a job that is nobody else's business.
	secret = "sesame-17"
	// served bounds what others wait for an answer, or a job, on a machine with much else to do.
	served = 20 * time.Second
	// maxResident is what the server may need of memory meanwhile, in MB.
	maxResident = 400
)

// scene is a cluster of one node on which jobs do not share CPUs.
type scene struct {
	*daemonstest.Scene
}

// One cluster must stand it all at once.
func TestHostileUsers(t *testing.T) {
	s := &scene{daemonstest.NewScene(t, daemons.Options{Bin: bin, Nodes: 1, Grace: time.Second})}
	s.rows(1)
	silence, slowness := start(t, s.Cluster, eve, "silence"), start(t, s.Cluster, eve, "slow")
	if n := silence.number(); n != silent {
		t.Errorf("%d of %d connections were made", n, silent)
	}
	if n := slowness.number(); n != slow {
		t.Errorf("%d of %d requests were begun", n, slow)
	}
	s.answers()
	t.Run("methods", s.methods)
	t.Run("limits", s.limits)
	t.Run("files", s.files)
	t.Run("large", s.large)
	t.Run("untaken", s.untaken)
	t.Run("unread", s.unread)
	t.Run("burst", s.burst)
	if n := silence.number(); n != silent {
		t.Errorf("the server has ended %d of %d silent connections", n, silent)
	}
	if n := slowness.number(); n != slow {
		t.Errorf("the server has ended %d of %d slow requests", n, slow)
	}
	s.answers()
	s.cancelAll()
}

// rows sets how many jobs may share a CPU.
func (s *scene) rows(n uint32) {
	s.T.Helper()
	_, err := s.Cluster.Cluster.SetSettings(s.Ctx, connect.NewRequest(&scorev1.SetSettingsRequest{
		Settings: &scorev1.Settings{MaxRows: n}, Fields: []string{"max_rows"},
	}))
	s.Check(err)
}

// limits: who claims to have no resource limits gets those of the process that submits, and no
// priorities.
func (s *scene) limits(t *testing.T) {
	text := start(t, s.Cluster, eve, "limits").line()
	has := make(map[string]string)
	for line := range strings.SplitSeq(text, ";") {
		for _, name := range []string{"Max open files", "Max msgqueue size", "Max realtime priority", "Max nice priority"} {
			if rest, ok := strings.CutPrefix(line, name); ok {
				has[name] = strings.Join(strings.Fields(rest)[:2], "/")
			}
		}
	}
	want := map[string]string{"Max open files": "128/128", "Max msgqueue size": "128/128", "Max realtime priority": "0/0", "Max nice priority": "0/0"}
	if !maps.Equal(has, want) {
		t.Errorf("the ranks have %v, not %v", has, want)
	}
}

// answers reports that others are served.
func (s *scene) answers() {
	s.T.Helper()
	begin := time.Now()
	_, err := s.Jobs.ListJobs(s.Ctx, connect.NewRequest(&scorev1.ListJobsRequest{}))
	s.Check(err)
	if took := time.Since(begin); took > served {
		s.T.Errorf("a list took %v", took)
	}
}

// methods lets a user try all there is on another's job.
func (s *scene) methods(t *testing.T) {
	dir := path.Join(s.Dir, secret+"-dir")
	s.Check(os.Mkdir(dir, 0o700))
	spec := shortJob("victim")
	spec.Env, spec.WorkDir = append(spec.Env, "KEY="+secret), dir
	spec.Argv = []string{"/bin/sh", "-c", ": " + secret + "; exec sleep 3600"}
	spec.StdoutPattern = path.Join(dir, "out")
	reply, err := s.Jobs.Submit(s.Ctx, connect.NewRequest(&scorev1.SubmitRequest{Spec: spec}))
	s.Check(err)
	id := reply.Msg.GetJobId()
	before := s.awaitRunning(id)
	if !strings.Contains(before.String(), secret) {
		t.Error("the owner does not see the secret, so this test would not find it")
	}
	var answers map[string]answer
	s.Check(json.Unmarshal([]byte(start(t, s.Cluster, eve, "methods", fmt.Sprint(jobVariable, "=", id)).line()), &answers))
	for name, a := range answers {
		refused := a.Status/100 == 4 || harmless[path.Base(name)] != "" || strings.Contains(a.Body, `"code":`)
		switch {
		case strings.Contains(a.Body, secret):
			t.Errorf("%s tells the secret: %s", name, a.Body)
		case !looksOnly(path.Base(name)) && !refused:
			t.Errorf("%s is not refused: %d %s", name, a.Status, a.Body)
		case a.Status == http.StatusNotFound && !strings.Contains(a.Body, `"code":`):
			t.Errorf("there is no method %s", name)
		}
	}
	if after := s.awaitRunning(id); after.GetStartedNanos() != before.GetStartedNanos() || after.GetSpec().GetPriority() != before.GetSpec().GetPriority() {
		t.Errorf("the job was %v and is %v", before, after)
	}
	s.Cancel(id)
}

// harmless are methods that refuse nothing, and why they need not.
var harmless = map[string]string{"ConfirmOutput": "it names an attachment, and whoever attached: of others' it does nothing"}

// looksOnly reports by a method's name whether it changes nothing; its answer must not have the
// secret.
func looksOnly(method string) bool {
	for _, verb := range []string{"Get", "List", "Explain", "Wait", "SwitchMetrics"} {
		if strings.HasPrefix(method, verb) {
			return true
		}
	}
	return false
}

func (s *scene) awaitRunning(id uint64) (job *scorev1.Job) {
	s.T.Helper()
	daemonstest.AwaitJob(s.T, s.Cluster, id, "runs", func(j *scorev1.Job) bool {
		job = j
		return daemonstest.Running(j)
	})
	return job
}

// counted is a body that counts how much of it was read.
type counted struct {
	io.Reader
	read int
}

func (c *counted) Read(p []byte) (int, error) {
	n, err := c.Reader.Read(p)
	c.read += n
	return n, err
}

// large sends requests of 100 MB, which are refused before they have been read.
func (s *scene) large(t *testing.T) {
	const size = 100 << 20
	transport := overHTTP2(s.Socket())
	defer transport.CloseIdleConnections()
	for name, length := range map[string]int64{"announced": size, "not announced": -1} {
		body := &counted{Reader: bytes.NewReader(bytes.Repeat([]byte(" "), size))}
		post, err := http.NewRequestWithContext(s.Ctx, http.MethodPost, "http://scored/score.v1.JobService/Submit", body)
		s.Check(err)
		post.ContentLength = length
		post.Header.Set("Content-Type", "application/json")
		if length > 0 {
			post.Header.Set("Expect", "100-continue")
		}
		reply, err := transport.RoundTrip(post)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		text, _ := io.ReadAll(reply.Body) // what there is
		reply.Body.Close()
		if reply.StatusCode != http.StatusTooManyRequests || !strings.Contains(string(text), "larger than") {
			t.Errorf("%s: %s %s", name, reply.Status, text)
		}
		if body.read > size/4 {
			t.Errorf("%s: %d bytes were taken", name, body.read)
		}
	}
}

// submitAs submits a job of a user.
func (s *scene) submitAs(uid uint32, spec *scorev1.JobSpec) uint64 {
	s.T.Helper()
	text, err := protojson.Marshal(spec)
	s.Check(err)
	return uint64(start(s.T, s.Cluster, uid, "submit", specVariable+"="+string(text)).number())
}

// burst lets a user submit thousands of jobs, and another one meanwhile.
func (s *scene) burst(t *testing.T) {
	crowd := start(t, s.Cluster, eve, "burst")
	crowd.number()
	took := time.Duration(start(t, s.Cluster, ada, "one").number()) * time.Millisecond
	if took > served {
		t.Errorf("another's job took %v", took)
	}
	if n := crowd.number(); n != burst {
		t.Errorf("%d of %d jobs were taken", n, burst)
	}
	waiting := s.waiting()
	if waiting < burst/10 {
		t.Errorf("only %d jobs of the burst wait when the other's is over", waiting)
	}
	resident := s.resident()
	if resident > maxResident {
		t.Errorf("the server needs %d MB", resident)
	}
	t.Logf("another's job was over after %v, %d jobs still waited; the server needed up to %d MB", took, waiting, resident)
}

// cancelAll ends what is left of the burst, and waits until the agent has forgotten it.
func (s *scene) cancelAll() {
	s.T.Helper()
	var jobs []*scorev1.Job
	for job, err := range s.ListJobs(s.Ctx, &scorev1.ListJobsRequest{}) {
		s.Check(err)
		jobs = append(jobs, job)
	}
	slices.Reverse(jobs) // those that wait first, so that none of them begins meanwhile
	var group errgroup.Group
	group.SetLimit(burstClients)
	for _, job := range jobs {
		group.Go(func() error {
			_, err := s.Jobs.CancelJob(s.Ctx, connect.NewRequest(&scorev1.CancelJobRequest{JobId: job.GetId(), AtOnce: true}))
			if code := connect.CodeOf(err); code == connect.CodeFailedPrecondition || code == connect.CodeNotFound {
				return nil // it has ended by itself
			}
			return err
		})
	}
	s.Check(group.Wait())
	s.Await("the agent holds no job", func() bool {
		jobs, err := s.Agents[0].Metric("score_agent_jobs")
		return err == nil && jobs == 0
	})
}

// waiting counts the jobs that wait.
func (s *scene) waiting() (n int) {
	s.T.Helper()
	for job, err := range s.ListJobs(s.Ctx, &scorev1.ListJobsRequest{}) {
		s.Check(err)
		if job.GetState() == scorev1.JobState_JOB_STATE_QUEUED {
			n++
		}
	}
	return n
}

// resident is the most that the server had of the machine's memory, in MB.
func (s *scene) resident() (mb int) {
	s.T.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.Server.PID()))
	s.Check(err)
	for line := range strings.Lines(string(text)) {
		var kib int
		if _, err := fmt.Sscanf(line, "VmHWM: %d kB", &kib); err == nil {
			return kib >> 10
		}
	}
	s.T.Fatal("there is no VmHWM")
	return 0
}
