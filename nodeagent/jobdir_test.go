package nodeagent_test

import (
	"fmt"
	"os"
	"path/filepath"
	"score/nodeagent"
	"score/nodeagent/launch"
	"score/nodeagent/leadertest"
	"score/scored/api/scorev1"
	"score/tests/smalldisk"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"
	"golang.org/x/sys/unix"
)

// A job has a directory of its own that only its user can enter. It is gone when
// the job's end is told, also if the steward was killed.
func TestJobsDirectory(t *testing.T) {
	if testing.Short() {
		t.Skip("waits for seconds; run without -short")
	}
	leader := startLeader(t)
	n := startNode(t, leader, jobsElsewhere(t))
	s := leader.Next(t)
	clocked(t, s)
	for job := uint64(1); job <= 2; job++ {
		order := n.order(job, "/bin/sh", "-c", `mkdir "$SCORE_JOB_DIR/sub" && echo here > "$SCORE_JOB_DIR/sub/file" && exec sleep 1000`)
		order.Spec.Env = append(order.Spec.Env, "SCORE_JOB_DIR=/outer")
		uid := uint32(os.Geteuid())
		if uid == 0 {
			uid = 65534
			order.User = &scorev1.Identity{Uid: uid, Gid: uid, User: "nobody"}
		}
		mustPrepare(t, s, order)
		dirs, err := filepath.Glob(n.options.JobsDir + "/[0-9]*") // beside the ranks' socket
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

// jobsElsewhere has the jobs' directories in a place to which the way is open to all.
func jobsElsewhere(t *testing.T) func(*nodeagent.Options) {
	dir := t.TempDir()
	for at := dir; at != "/" && at != os.TempDir(); at = filepath.Dir(at) {
		if err := os.Chmod(at, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return func(o *nodeagent.Options) { o.JobsDir = filepath.Join(dir, "made", "n1.jobs") }
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
		awaitRemoved(t, matching(left))
		s.Send(planMessage(1, 2, time.Second, []uint64{1}))
		touch(t, release)
		done(t, s, 1)
		if _, err := os.Stat(dirs[0]); err == nil {
			t.Error("the job is over and has its directory")
		}
	})
}

// An agent that has the jobs' directories elsewhere than the one before it leaves those of
// the jobs that go on where they are, and removes what is left there.
func TestJobsDirectoryMoves(t *testing.T) {
	crashes(t, func(t *testing.T, n *mortal, s *leadertest.Session) {
		former := n.options.RunDir + ".jobs"
		argv, release := n.waiter(0)
		mustRun(t, s, n.order(1, argv...))
		left := filepath.Join(former, "9-left")
		if err := os.MkdirAll(filepath.Join(left, "sub"), 0o700); err != nil {
			t.Fatal(err)
		}
		jobsElsewhere(t)(&n.options)
		s = n.crash(s)
		if dirs, err := filepath.Glob(former + "/1-*"); err != nil || len(dirs) != 1 {
			t.Errorf("the job goes on, and its directories are %v, %v", dirs, err)
		}
		awaitRemoved(t, matching(left))
		s.Send(planMessage(1, 2, time.Second, []uint64{1}))
		touch(t, release)
		done(t, s, 1)
		if dirs, err := filepath.Glob(former + "/[0-9]*"); err != nil || len(dirs) != 0 {
			t.Errorf("the job is over, and directories are left: %v, %v", dirs, err)
		}
		mustPrepare(t, s, n.order(2, "/bin/true"))
		if dirs, err := filepath.Glob(n.options.JobsDir + "/2-*"); err != nil || len(dirs) != 1 {
			t.Errorf("the directories of the next job are %v, %v", dirs, err)
		}
		s.Send(killMessage(2))
		done(t, s, 2)
	})
}

// A job that has ended under an agent that died is told of again by the next one, which does not
// complain that the job's directory is gone.
func TestAJobsDirectoryThatIsGoneIsNoFailure(t *testing.T) {
	leader := startLeader(t)
	n := startMortal(t, leader)
	s := leader.Next(t)
	clocked(t, s)
	argv, release := n.waiter(0)
	mustRun(t, s, n.order(1, argv...))
	touch(t, release)
	done(t, s, 1)
	n.kill(s)
	core, logs := observer.New(zapcore.WarnLevel)
	n.options.Logger = zap.New(core)
	n.run()
	t.Cleanup(n.stop)
	s = leader.Next(t)
	holds(t, s, 1)
	done(t, s, 1)
	if complaints := logs.FilterMessageSnippet("could not be removed").All(); len(complaints) > 0 {
		t.Errorf("%v", complaints)
	}
	s.Send(forgetMessage(1))
}

// Where the file system of the jobs' directories is full, the user hears that, and the node goes on
// with the next job once there is room.
func TestJobsDirectoriesAreFull(t *testing.T) {
	small := t.TempDir()
	smalldisk.Mount(t, small, "size=1m,nr_inodes=2")
	filler := filepath.Join(small, "filler")
	touch(t, filler)
	leader := startLeader(t)
	n := startNode(t, leader, func(o *nodeagent.Options) { o.JobsDir = filepath.Join(small, "n1.jobs") })
	s := leader.Next(t)
	if notes := fmt.Sprint(s.Hello.GetNotes()); !strings.Contains(notes, "jobs cannot have their directories in "+small) {
		t.Errorf("the node's notes are %s", notes)
	}
	clocked(t, s)
	s.Send(prepareMessage(n.order(1, "/bin/true")))
	if p := prepared(t, s, 1); p.GetExitCode() == 0 || !strings.Contains(p.GetError(), "the file system of "+n.options.JobsDir+" is full; free some of it") {
		t.Errorf("prepared: %v", p)
	}
	s.Send(forgetMessage(1))
	if err := os.Remove(filler); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mount("", small, "", unix.MS_REMOUNT, "size=1m,nr_inodes=100"); err != nil {
		t.Fatal(err)
	}
	mustPrepare(t, s, n.order(2, "/bin/true"))
	s.Send(killMessage(2))
	done(t, s, 2)
}

// An agent starts on a full disk, and runs jobs.
func TestRunDirectoryIsFull(t *testing.T) {
	small := t.TempDir()
	smalldisk.Mount(t, small, "size=64k")
	for i := 0; ; i++ {
		if err := os.WriteFile(filepath.Join(small, fmt.Sprint("filler", i)), make([]byte, os.Getpagesize()), 0o600); err != nil {
			break
		}
	}
	leader := startLeader(t)
	n := startNode(t, leader, func(o *nodeagent.Options) { o.RunDir = filepath.Join(small, "run") })
	s := leader.Next(t)
	clocked(t, s)
	mustPrepare(t, s, n.order(1, "/bin/true"))
	s.Send(killMessage(1))
	done(t, s, 1)
}
