package daemons

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"score/scored/api/scorev1"
	"score/scored/client"
	"slices"
	"sync"
	"time"

	"connectrpc.com/connect"
)

const (
	// loadPause is between the submissions of one client of a Load: a job costs some processes, and
	// the cluster remembers the last 1,000 that have ended.
	loadPause = 400 * time.Millisecond
	// loadTimeout bounds one submission; a client without an answer by then asks another server.
	loadTimeout = 10 * time.Second
)

// errLoad is wrapped by the errors of a Load.
var errLoad = errors.New("the load is wrong")

// Load is a number of clients that submit jobs all the time, each by way of one server. Each job
// writes its token into a file, which shows how often it ran.
type Load struct {
	cluster *Cluster
	file    string
	node    string
	cancel  context.CancelFunc
	all     sync.WaitGroup

	mu       sync.Mutex
	accepted map[string]uint64 // numbers by token
	asked    map[string]bool   // tokens that are not known to be accepted
	under    map[string]begun  // submissions under way, by token
	refusals map[string]int    // by sentence
	waits    map[string]wait   // by socket
	besides  int               // rounds of Submit
}

// begun is a submission that is under way.
type begun struct {
	socket string
	at     time.Time
}

// wait is how long submissions by way of a server have waited.
type wait struct {
	refused  time.Time // the first since one was accepted was begun
	longest  time.Duration
	accepted int
}

// blocked returns how long an attempt that began at an instant has waited, together with the
// refused attempts before it.
func (w wait) blocked(began, now time.Time) time.Duration {
	if !w.refused.IsZero() && w.refused.Before(began) {
		began = w.refused
	}
	return now.Sub(began)
}

// Load starts clients, whose jobs run on one node.
func (c *Cluster) Load(ctx context.Context, clients int, node string) *Load {
	ctx, cancel := context.WithCancel(ctx)
	l := &Load{
		cluster: c, file: filepath.Join(c.Dir, "load"), node: node, cancel: cancel,
		accepted: make(map[string]uint64), asked: make(map[string]bool), refusals: make(map[string]int), waits: make(map[string]wait),
		under: make(map[string]begun),
	}
	for i := range clients {
		l.all.Go(func() { l.submitAll(ctx, i) })
	}
	return l
}

func (l *Load) submitAll(ctx context.Context, number int) {
	tick := time.NewTicker(loadPause)
	defer tick.Stop()
	for turn := 0; ; turn++ {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		// A submission that is under way when all is over has its time, too.
		l.submit(context.WithoutCancel(ctx), l.cluster.socketOf(number), fmt.Sprintf("%d.%d", number, turn))
	}
}

// socketOf returns the socket of a client's server, among the present servers.
func (c *Cluster) socketOf(client int) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.Servers[client%len(c.Servers)].Socket
}

func (l *Load) submit(ctx context.Context, socket, token string) {
	ctx, cancel := context.WithTimeout(ctx, loadTimeout)
	defer cancel()
	user := client.New(socket)
	defer user.Close()
	began := l.begin(socket, token)
	id, err := user.Submit(ctx, &scorev1.JobSpec{
		Name: "load" + token, Argv: []string{"/bin/sh", "-c", `echo "$0" >>"$1"`, token, l.file}, WorkDir: "/", Tasks: 1,
		NodeList: []string{l.node}, Detached: true, StdoutPattern: os.DevNull, MemoryPerNodeBytes: 8 << 20,
		Env: []string{"PATH=/bin:/usr/bin", Mark + "=" + l.cluster.Dir},
	})
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.under, token)
	w := l.waits[socket]
	if err != nil {
		l.refusals[err.Error()]++
		if w.refused.IsZero() {
			w.refused = began
		}
		l.waits[socket] = w
		return
	}
	delete(l.asked, token)
	l.accepted[token] = id
	l.waits[socket] = wait{longest: max(w.longest, w.blocked(began, time.Now())), accepted: w.accepted + 1}
}

func (l *Load) begin(socket, token string) (at time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	at = time.Now()
	l.asked[token], l.under[token] = true, begun{socket, at}
	return at
}

// Submit submits a job by way of each of some servers at once, besides, and waits for the answers.
func (l *Load) Submit(ctx context.Context, servers ...*Daemon) {
	l.mu.Lock()
	l.besides++
	round := l.besides
	l.mu.Unlock()
	var all sync.WaitGroup
	for _, server := range servers {
		all.Go(func() { l.submit(ctx, server.Socket, fmt.Sprintf("besides%d.%s", round, server.Name)) })
	}
	all.Wait()
}

// Accepted returns how many submissions were acknowledged until now.
func (l *Load) Accepted() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.accepted)
}

// AwaitAccepted waits until more submissions were accepted, counted from now.
func (l *Load) AwaitAccepted(ctx context.Context, more int) error {
	want := l.Accepted() + more
	return Await(ctx, fmt.Sprint(more, " more jobs are accepted"), func() bool { return l.Accepted() >= want })
}

// AwaitNone waits until no submission through the servers waits any more, that is, until through
// each of them one was accepted that began after the call.
func (l *Load) AwaitNone(ctx context.Context, servers ...*Daemon) error {
	before := make(map[string]int)
	l.mu.Lock()
	for socket, w := range l.waits {
		before[socket] = w.accepted
	}
	l.mu.Unlock()
	return Await(ctx, "submissions by way of all servers are accepted", func() bool {
		l.mu.Lock()
		defer l.mu.Unlock()
		// The first may have been under way.
		return !slices.ContainsFunc(servers, func(d *Daemon) bool { return l.waits[d.Socket].accepted < before[d.Socket]+2 })
	})
}

// Blocked returns the longest time that a submission through one of the servers has taken, or
// takes, since the last call of Blocked.
func (l *Load) Blocked(servers ...*Daemon) (longest time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	for _, server := range servers {
		longest = max(longest, l.waits[server.Socket].longest)
		for _, s := range l.under {
			if s.socket == server.Socket {
				longest = max(longest, l.waits[s.socket].blocked(s.at, now))
			}
		}
	}
	for socket, w := range l.waits {
		l.waits[socket] = wait{refused: w.refused, accepted: w.accepted}
	}
	return longest
}

// Stop ends the clients and checks their jobs. The error lists acknowledged jobs that have neither
// run once nor an end that says why, and jobs that ran twice. The jobs in keep are others', and go
// on.
func (l *Load) Stop(ctx context.Context, keep ...uint64) (summary string, err error) {
	l.cancel()
	l.all.Wait()
	err = Await(ctx, "the load's jobs have ended", func() bool {
		living, err := l.cluster.Living(ctx)
		for _, id := range keep {
			delete(living, id)
		}
		return err == nil && len(living) == 0
	})
	if err != nil {
		return "", err
	}
	runs, err := l.runs()
	if err != nil {
		return "", err
	}
	var errs []error
	ran, told := 0, 0
	for token, id := range l.accepted {
		reply, err := l.cluster.Jobs.GetJob(ctx, connect.NewRequest(&scorev1.GetJobRequest{JobId: id}))
		if err != nil {
			errs = append(errs, fmt.Errorf("%w: job %d was acknowledged: %w", errLoad, id, err))
			continue
		}
		verdict := reply.Msg.GetJob().GetVerdict()
		switch good := verdict.GetReason() == scorev1.EndReason_END_REASON_EXITED && verdict.GetExitCode() == 0; {
		case good && runs[token] == 1:
			ran++
		case !good && runs[token] <= 1 && verdict.GetMessage() != "":
			told++
		default:
			errs = append(errs, fmt.Errorf("%w: job %d ran %d times, and its end says %v", errLoad, id, runs[token], verdict))
		}
	}
	for token := range l.asked {
		if runs[token] > 1 {
			errs = append(errs, fmt.Errorf("%w: %s ran %d times", errLoad, token, runs[token]))
		}
	}
	return fmt.Sprintf("%d ran, %d were reported, %d were not acknowledged: %v", ran, told, len(l.asked), l.refusals), errors.Join(errs...)
}

// runs counts what the jobs have written.
func (l *Load) runs() (map[string]int, error) {
	file, err := os.Open(l.file)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	counts := make(map[string]int)
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		counts[lines.Text()]++
	}
	return counts, lines.Err()
}
