package nodeagent_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"score/nodeagent/launch"
	"score/nodeagent/leadertest"
	"score/scored/api/scorev1"
)

// A job has a directory of its own that only its user can enter. It is gone when
// the job's end is told, also if the steward was killed.
func TestJobsDirectory(t *testing.T) {
	leader := startLeader(t)
	n := startNode(t, leader)
	s := leader.Next(t)
	clocked(t, s)
	for job := uint64(1); job <= 2; job++ {
		order := n.order(job, "/bin/sh", "-c", `mkdir "$SCORE_JOB_DIR/sub" && echo here > "$SCORE_JOB_DIR/sub/file" && exec sleep 1000`)
		order.Spec.Env = append(order.Spec.Env, "SCORE_JOB_DIR=/outer")
		uid := uint32(os.Geteuid())
		if uid == 0 { // the way to the run directory must be open to another user
			uid = 65534
			order.User = &scorev1.Identity{Uid: uid, Gid: uid, User: "nobody"}
			for dir := filepath.Dir(n.options.RunDir); dir != "/" && dir != os.TempDir(); dir = filepath.Dir(dir) {
				if err := os.Chmod(dir, 0o755); err != nil {
					t.Fatal(err)
				}
			}
		}
		mustPrepare(t, s, order)
		dirs, err := filepath.Glob(n.options.RunDir + ".jobs/*")
		if err != nil || len(dirs) != 1 || !strings.HasPrefix(filepath.Base(dirs[0]), fmt.Sprint(job, "-")) {
			t.Fatalf("directories %v, %v", dirs, err)
		}
		info, err := os.Stat(dirs[0])
		if err != nil || info.Mode() != os.ModeDir|0o700 || info.Sys().(*syscall.Stat_t).Uid != uid {
			t.Errorf("%v, %v", info, err)
		}
		s.Send(planMessage(1, job, 1e9, []uint64{job}))
		pid := int(launched(t, s, job).GetPids()[0])
		for { // until the rank has written it
			if data, err := os.ReadFile(filepath.Join(dirs[0], "sub", "file")); err == nil && string(data) == "here\n" {
				break
			}
			if err := syscall.Kill(pid, 0); err != nil {
				t.Fatalf("the rank is gone: %v", err)
			}
		}
		asOwner := &launch.User{UID: uid, GID: uid}
		if err := launch.AsUser(asOwner, func() error { return deepen(dirs[0]) }); err != nil {
			t.Fatal(err)
		}
		if job == 1 {
			s.Send(killMessage(job))
		} else if err := syscall.Kill(parentOf(t, pid), syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		done(t, s, job)
		if _, err := os.Stat(dirs[0]); err == nil {
			t.Errorf("job %d is over and has its directory", job)
		}
		s.Send(forgetMessage(job))
	}
}

// deepen makes directories below each other.
func deepen(dir string) error {
	const depth = 2000
	at, err := unix.Open(dir, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	for range depth {
		if err != nil {
			return err
		}
		next := -1
		if err = unix.Mkdirat(at, "d", 0o700); err == nil {
			next, err = unix.Openat(at, "d", unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		}
		unix.Close(at)
		at = next
	}
	unix.Close(at)
	return err
}

// The directory of a job that goes on under the next agent stays; what jobs
// that are gone have left is removed by that agent.
func TestJobsDirectoryOverAgents(t *testing.T) {
	crashes(t, func(t *testing.T, n *mortal, s *leadertest.Session) {
		argv, release := n.waiter(0)
		mustRun(t, s, n.order(1, argv...))
		dirs, err := filepath.Glob(n.options.RunDir + ".jobs/*")
		if err != nil || len(dirs) != 1 {
			t.Fatalf("directories %v, %v", dirs, err)
		}
		left := n.options.RunDir + ".jobs/9-left"
		if err := os.MkdirAll(filepath.Join(left, "sub"), 0o700); err != nil {
			t.Fatal(err)
		}
		s = n.crash(s)
		if _, err := os.Stat(dirs[0]); err != nil {
			t.Errorf("the job goes on without its directory: %v", err)
		}
		if _, err := os.Stat(left); err == nil {
			t.Error("the directory of a job that is gone is left")
		}
		s.Send(planMessage(1, 2, time.Second, []uint64{1}))
		touch(t, release)
		done(t, s, 1)
		if _, err := os.Stat(dirs[0]); err == nil {
			t.Error("the job is over and has its directory")
		}
	})
}
