package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// slurm is a private Slurm of two nodes in a network namespace of its own, so
// that nothing of it listens on the machine.
type slurm struct {
	dir       string
	namespace string
	daemons   []*exec.Cmd
	jobID     string // of the allocation that steps run in
}

const (
	slurmNodes   = 2
	slurmCPUs    = 64               // per node: enough for the largest launch
	slurmStart   = 40 * time.Second // Slurm polls its nodes every few seconds
	slurmStop    = 5 * time.Second
	slurmctlPort = 16817
	slurmdPort   = 17000
)

var errNoSlurm = errors.New("the peer Slurm cannot run here")

func startSlurm(ctx context.Context, work string) (*slurm, error) {
	if os.Getuid() != 0 {
		return nil, fmt.Errorf("%w: it needs root for a network namespace", errNoSlurm)
	}
	s := &slurm{dir: filepath.Join(work, "slurm"), namespace: fmt.Sprintf("score-bench-%d", os.Getpid())}
	if err := s.start(ctx); err != nil {
		s.stop()
		return nil, errors.Join(errNoSlurm, err)
	}
	return s, nil
}

func (s *slurm) start(ctx context.Context) error {
	for _, args := range [][]string{
		{"netns", "add", s.namespace},
		{"-n", s.namespace, "link", "set", "lo", "up"},
		{"-n", s.namespace, "addr", "add", "10.99.0.1/32", "dev", "lo"},
	} {
		if out, err := exec.CommandContext(ctx, "ip", args...).CombinedOutput(); err != nil {
			return fmt.Errorf("ip %s: %w: %s", strings.Join(args, " "), err, out)
		}
	}
	if err := s.writeFiles(); err != nil {
		return err
	}
	if err := s.daemon("munged", "-F", "-f", "--key-file="+s.path("key"), "--socket="+s.path("munge.sock"),
		"--pid-file="+s.path("munge.pid"), "--log-file="+s.path("munge.log"), "--seed-file="+s.path("munge.seed")); err != nil {
		return err
	}
	if err := waitFor(ctx, slurmStart, func() bool { return exists(s.path("munge.sock")) }); err != nil {
		return fmt.Errorf("munged did not start: %w", err)
	}
	if err := s.daemon("slurmctld", "-D", "-c", "-f", s.path("slurm.conf")); err != nil {
		return err
	}
	for i := range slurmNodes {
		if err := s.daemon("slurmd", "-D", "-N", fmt.Sprintf("n%d", i+1), "-f", s.path("slurm.conf")); err != nil {
			return err
		}
	}
	if err := waitFor(ctx, slurmStart, func() bool { return s.idleNodes(ctx) == slurmNodes }); err != nil {
		return fmt.Errorf("slurmd did not register: %w", err)
	}
	return s.allocate(ctx)
}

func (s *slurm) path(name string) string { return filepath.Join(s.dir, name) }

func (s *slurm) writeFiles() error {
	for _, d := range []string{"", "state", "spool-n1", "spool-n2", "tmp-n1", "tmp-n2"} {
		if err := os.MkdirAll(s.path(d), 0o755); err != nil {
			return err
		}
	}
	key := make([]byte, 1024)
	if _, err := rand.Read(key); err != nil {
		return err
	}
	if err := os.WriteFile(s.path("key"), key, 0o400); err != nil {
		return err
	}
	host, err := os.Hostname()
	if err != nil {
		return err
	}
	var conf bytes.Buffer
	fmt.Fprintf(&conf, "ClusterName=peer\nSlurmctldHost=%s(127.0.0.1)\nAuthType=auth/munge\nAuthInfo=socket=%s\n", host, s.path("munge.sock"))
	fmt.Fprintf(&conf, "CredType=cred/munge\nSlurmUser=root\nSlurmdUser=root\nSlurmctldPort=%d\n", slurmctlPort)
	fmt.Fprintf(&conf, "SlurmctldPidFile=%s\nSlurmdPidFile=%s\nSlurmdSpoolDir=%s\nTmpFS=%s\nStateSaveLocation=%s\n",
		s.path("slurmctld.pid"), s.path("slurmd-%n.pid"), s.path("spool-%n"), s.path("tmp-%n"), s.path("state"))
	fmt.Fprintf(&conf, "SlurmctldLogFile=%s\nSlurmdLogFile=%s\n", s.path("slurmctld.log"), s.path("slurmd-%n.log"))
	conf.WriteString(`ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
MpiDefault=none
ReturnToService=2
PropagateResourceLimits=NONE
SlurmdParameters=config_overrides
SchedulerType=sched/builtin
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
CommunicationParameters=NoInAddrAny,NoCtldInAddrAny
`)
	for i := range slurmNodes {
		fmt.Fprintf(
			&conf,
			"NodeName=n%d NodeHostname=localhost NodeAddr=127.0.0.1 Port=%d CPUs=%d RealMemory=1000 State=UNKNOWN\n",
			i+1,
			slurmdPort+i,
			slurmCPUs,
		)
	}
	fmt.Fprintf(&conf, "PartitionName=p Nodes=n[1-%d] Default=YES MaxTime=INFINITE State=UP\n", slurmNodes)
	return os.WriteFile(s.path("slurm.conf"), conf.Bytes(), 0o644)
}

// command runs a program of Slurm's inside the namespace.
func (s *slurm) command(ctx context.Context, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "nsenter", append([]string{"--net=/run/netns/" + s.namespace, name}, args...)...)
	cmd.Env = append(os.Environ(), "SLURM_CONF="+s.path("slurm.conf"))
	return cmd
}

// daemon starts one of Slurm's daemons, found in sbin too.
func (s *slurm) daemon(name string, args ...string) error {
	path := name
	if _, err := exec.LookPath(name); err != nil {
		path = "/usr/sbin/" + name
	}
	cmd := s.command(context.Background(), path, args...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	s.daemons = append(s.daemons, cmd)
	return nil
}

func (s *slurm) idleNodes(ctx context.Context) int {
	out, err := s.command(ctx, "sinfo", "-h", "-N", "-o", "%T").Output()
	if err != nil {
		return 0
	}
	return strings.Count(string(out), "idle")
}

// allocate takes all nodes once, so that steps are timed and not allocations.
func (s *slurm) allocate(ctx context.Context) error {
	out, err := s.command(ctx, "salloc", "--no-shell", fmt.Sprintf("-N%d", slurmNodes), fmt.Sprintf("-n%d", slurmCPUs)).CombinedOutput()
	if err != nil {
		return fmt.Errorf("salloc: %w: %s", err, out)
	}
	for field := range strings.FieldsSeq(string(out)) {
		if field = strings.TrimRight(field, "."); field != "" && strings.Trim(field, "0123456789") == "" {
			s.jobID = field
			return nil
		}
	}
	return fmt.Errorf("salloc named no job: %s", out)
}

// srun is the command that runs program as a step on both nodes.
func (s *slurm) srun(ctx context.Context, tasks int, program string, options ...string) *exec.Cmd {
	return s.step(ctx, tasks, append(options, program)...)
}

// step is a step of as many tasks; options and the program follow.
func (s *slurm) step(ctx context.Context, tasks int, arguments ...string) *exec.Cmd {
	args := []string{"--jobid=" + s.jobID, "--overlap", fmt.Sprintf("-N%d", min(slurmNodes, tasks)), fmt.Sprintf("-n%d", tasks)}
	return s.command(ctx, "srun", append(args, arguments...)...)
}

// stop ends the daemons, newest first, and removes the namespace.
func (s *slurm) stop() {
	for i := len(s.daemons) - 1; i >= 0; i-- {
		stopCommand(s.daemons[i], slurmStop)
	}
	_ = exec.Command("ip", "netns", "del", s.namespace).Run() // already gone is fine
}
