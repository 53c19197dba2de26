package hostile

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"score/scored/api"
	"score/scored/api/scorev1"
	"score/scored/client"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"connectrpc.com/connect"
	"golang.org/x/sys/unix"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"
)

const (
	// silent connections are opened by one user, and slow ones send a byte now and then.
	silent, slow = 1000, 200
	// burst jobs are submitted by burstClients at once; of the first early of them is told.
	burst, burstClients, early = 10000, 64, 2000
	// look is how long a method that only looks, or does no harm, is listened to: it may wait for
	// the end of a job. The others are to refuse, within served.
	look = 2 * time.Second
)

// play plays a part as the user whose number is the argument.
func play(part string) int {
	uid, err := strconv.Atoi(os.Args[1])
	if err == nil && uid != os.Getuid() { // a rank is its user's already
		err = errors.Join(syscall.Setgroups(nil), syscall.Setgid(uid), syscall.Setuid(uid))
	}
	if err == nil {
		err = map[string]func() error{
			"silence": playSilence, "slow": playSlow, "burst": playBurst, "one": playOne, "methods": playMethods, "limits": playLimits,
			"files": playFiles, "thief": playThief, "submit": playSubmit, "untaken": playUntaken, "unread": playUnread,
			"lookups": playLookups, "churn": playChurn, "greedy": playGreedy,
		}[part]()
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", part, err)
		return 1
	}
	_, _ = io.Copy(io.Discard, os.Stdin) // until the test is over
	return 0
}

func socket() string { return os.Getenv(socketVariable) }

// playSilence connects and says nothing; it tells when all are connected, and how many were closed.
func playSilence() error {
	conns, err := dial(silent)
	if err != nil {
		return err
	}
	fmt.Println(len(conns))
	fmt.Println(countEnds(conns))
	return nil
}

// playSlow begins requests that never end; it tells when all have begun, and how many were ended.
func playSlow() error {
	conns, err := dial(slow)
	if err != nil {
		return err
	}
	for i, c := range conns {
		// Half of them announce a body that they do not send, half do not even end their header.
		text := "POST /score.v1.JobService/Submit HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
		if i%2 == 0 {
			text += "Content-Length: 1000\r\n\r\n{"
		}
		if _, err := io.WriteString(c, text); err != nil {
			return err
		}
	}
	fmt.Println(len(conns))
	done := make(chan struct{})
	go func() {
		for range time.Tick(time.Second) {
			for i, c := range conns {
				_, _ = io.WriteString(c, map[bool]string{true: " ", false: "x"}[i%2 == 0]) // it may be closed
			}
			select {
			case <-done:
				return
			default:
			}
		}
	}()
	fmt.Println(countEnds(conns))
	close(done)
	return nil
}

func dial(n int) (conns []net.Conn, err error) {
	for range n {
		c, err := net.Dial("unix", socket())
		if err != nil {
			return nil, err
		}
		conns = append(conns, c)
	}
	return conns, nil
}

// countEnds waits until the server has ended the connections, and counts them.
func countEnds(conns []net.Conn) int {
	var ended atomic.Int64
	var all sync.WaitGroup
	for _, c := range conns {
		all.Go(func() {
			_ = c.SetReadDeadline(time.Now().Add(time.Minute))
			if _, err := io.Copy(io.Discard, c); !errors.Is(err, os.ErrDeadlineExceeded) {
				ended.Add(1)
			}
		})
	}
	all.Wait()
	return int(ended.Load())
}

func shortJob(name string) *scorev1.JobSpec {
	return &scorev1.JobSpec{
		Name: name, Argv: []string{"/bin/sleep", "0.2"}, WorkDir: "/", Tasks: 1, Detached: true, StdoutPattern: os.DevNull,
		MemoryPerNodeBytes: 8 << 20, Env: []string{"PATH=/bin:/usr/bin"},
	}
}

// playBurst submits thousands of jobs; it tells when the first of them are acknowledged, and how
// many were in the end.
func playBurst() error {
	var left, taken atomic.Int64
	left.Store(burst)
	errs := make([]error, burstClients)
	var all sync.WaitGroup
	for i := range burstClients {
		all.Go(func() {
			user := client.New(socket())
			defer user.Close()
			for left.Add(-1) >= 0 {
				_, errs[i] = user.Jobs.Submit(context.Background(), connect.NewRequest(&scorev1.SubmitRequest{Spec: shortJob("burst")}))
				if errs[i] != nil {
					return
				}
				if taken.Add(1) == early {
					fmt.Println(early)
				}
			}
		})
	}
	all.Wait()
	fmt.Println(taken.Load())
	return errors.Join(errs...)
}

// playOne submits one job, and tells how many milliseconds it was until it had been started.
func playOne() error {
	user := client.New(socket())
	defer user.Close()
	begin := time.Now()
	reply, err := user.Jobs.Submit(context.Background(), connect.NewRequest(&scorev1.SubmitRequest{Spec: shortJob("one")}))
	if err != nil {
		return err
	}
	waited, err := user.Jobs.WaitJob(context.Background(), connect.NewRequest(&scorev1.WaitJobRequest{JobId: reply.Msg.GetJobId()}))
	if err != nil {
		return err
	}
	job := waited.Msg.GetJob()
	if job.GetVerdict().GetReason() != scorev1.EndReason_END_REASON_EXITED {
		return fmt.Errorf("it ended with %v", job.GetVerdict())
	}
	fmt.Println(time.Since(begin).Milliseconds())
	return nil
}

// playSubmit submits the job of specVariable, and tells its number.
func playSubmit() error {
	spec := new(scorev1.JobSpec)
	if err := protojson.Unmarshal([]byte(os.Getenv(specVariable)), spec); err != nil {
		return err
	}
	user := client.New(socket())
	defer user.Close()
	reply, err := user.Jobs.Submit(context.Background(), connect.NewRequest(&scorev1.SubmitRequest{Spec: spec}))
	if err != nil {
		return err
	}
	fmt.Println(reply.Msg.GetJobId())
	return nil
}

// playLimits lowers its own limits, claims to have none, and tells those of the
// ranks that it gets.
func playLimits() error {
	const soft, hard = 64, 128
	for _, resource := range []int{unix.RLIMIT_NOFILE, unix.RLIMIT_MSGQUEUE} {
		if err := unix.Setrlimit(resource, &unix.Rlimit{Cur: soft, Max: hard}); err != nil {
			return err
		}
	}
	dir, err := os.MkdirTemp("", "limits")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	spec := shortJob("limits")
	spec.Argv, spec.StdoutPattern = []string{"/bin/cat", "/proc/self/limits"}, filepath.Join(dir, "out")
	for resource := range api.ResourceLimits {
		spec.Limits = append(spec.Limits, &scorev1.ResourceLimit{Resource: uint32(resource), Soft: unix.RLIM_INFINITY, Hard: unix.RLIM_INFINITY})
	}
	user := client.New(socket())
	defer user.Close()
	reply, err := user.Jobs.Submit(context.Background(), connect.NewRequest(&scorev1.SubmitRequest{Spec: spec}))
	if err != nil {
		return err
	}
	if _, err = user.Jobs.WaitJob(context.Background(), connect.NewRequest(&scorev1.WaitJobRequest{JobId: reply.Msg.GetJobId()})); err != nil {
		return err
	}
	text, err := os.ReadFile(spec.GetStdoutPattern())
	if err != nil {
		return err
	}
	fmt.Println(strings.ReplaceAll(string(text), "\n", ";"))
	return nil
}

// answer is what a method says.
type answer struct {
	Status int    // of HTTP
	Body   string // all that came in time
}

// playMethods calls every method of the users' services on another's job, and tells all answers.
func playMethods() error {
	answers := make(map[string]answer)
	services := scorev1.File_score_v1_user_proto.Services()
	for i := range services.Len() {
		methods := services.Get(i).Methods()
		for k := range methods.Len() {
			name := fmt.Sprintf("/%s/%s", services.Get(i).FullName(), methods.Get(k).Name())
			a, err := try(name, methods.Get(k))
			if err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			answers[name] = a
		}
	}
	out := bufio.NewWriter(os.Stdout)
	if err := json.NewEncoder(out).Encode(answers); err != nil {
		return err
	}
	return out.Flush()
}

// try calls a method as curl would.
func try(name string, method protoreflect.MethodDescriptor) (a answer, err error) {
	request := dynamicpb.NewMessage(method.Input())
	aim(request)
	body, err := protojson.Marshal(request)
	if err != nil {
		return a, err
	}
	kind := "application/json"
	if method.IsStreamingClient() || method.IsStreamingServer() {
		kind = "application/connect+json"
		body = append(binary.BigEndian.AppendUint32([]byte{0}, uint32(len(body))), body...)
	}
	transport := overHTTP2(socket())
	defer transport.CloseIdleConnections()
	bound := served
	if method := path.Base(name); looksOnly(method) || harmless[method] != "" {
		bound = look
	}
	ctx, cancel := context.WithTimeout(context.Background(), bound)
	defer cancel()
	post, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://scored"+name, bytes.NewReader(body))
	if err != nil {
		return a, err
	}
	post.Header.Set("Content-Type", kind)
	reply, err := transport.RoundTrip(post)
	if errors.Is(err, context.DeadlineExceeded) {
		return a, nil // it waits for something
	}
	if err != nil {
		return a, err
	}
	defer reply.Body.Close()
	text, err := io.ReadAll(reply.Body)
	if errors.Is(err, context.DeadlineExceeded) {
		err = nil
	}
	return answer{Status: reply.StatusCode, Body: string(text)}, err
}

// overHTTP2 reaches a socket as the users' programs do.
func overHTTP2(path string) *http.Transport {
	protocols := new(http.Protocols)
	protocols.SetUnencryptedHTTP2(true)
	return &http.Transport{
		Protocols: protocols, ExpectContinueTimeout: time.Minute,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", path)
		},
	}
}

// aim puts the other's job into all fields that name one, and something into the others.
func aim(m protoreflect.Message) {
	job, _ := strconv.ParseUint(os.Getenv(jobVariable), 10, 64)
	fields := m.Descriptor().Fields()
	for i := range fields.Len() {
		switch f := fields.Get(i); {
		case f.IsList() || f.IsMap():
		case f.Kind() == protoreflect.Uint64Kind && strings.HasSuffix(string(f.Name()), "job_id"):
			m.Set(f, protoreflect.ValueOfUint64(job))
		case f.Kind() == protoreflect.Int32Kind && f.Name() == "signal":
			m.Set(f, protoreflect.ValueOfInt32(int32(syscall.SIGKILL)))
		case f.Kind() == protoreflect.StringKind && (f.Name() == "user" || f.Name() == "node" || f.Name() == "name"):
			m.Set(f, protoreflect.ValueOfString(map[bool]string{true: "root", false: "n1"}[f.Name() == "user"]))
		case f.ContainingOneof() != nil && m.WhichOneof(f.ContainingOneof()) != nil:
		case f.Kind() == protoreflect.MessageKind && f.Message().ParentFile().Path() == m.Descriptor().ParentFile().Path() && f.Message() != m.Descriptor():
			aim(m.Mutable(f).Message())
		}
	}
}
