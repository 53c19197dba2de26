package steward_test

import (
	"path/filepath"
	"score/nodeagent/mpidirs"
	"score/nodeagent/steward/stewardpb"
	"score/scored/api/scorev1"
	"strings"
	"testing"
)

// TestPMIxLeavesNothing is for the files that MPI programs leave.
func TestPMIxLeavesNothing(t *testing.T) {
	a := start(t)
	a.run(2, sh(`d=$OMPI_MCA_btl_vader_backing_directory
		[ "$OMPI_MCA_osc_rdma_backing_directory $OMPI_MCA_osc_sm_backing_directory" = "$d $d" ] &&
		mkdir $d/$PMIX_RANK && : > $d/$PMIX_RANK/x && echo $d`),
		withSpec(func(s *scorev1.JobSpec) { s.Mpi = scorev1.MpiMode_MPI_MODE_PMIX }))
	out := readAll(t, a.stdio())
	a.exits()
	dir := strings.TrimSpace(out[stream{0, 1}])
	if mpidirs.Job(a.files(), filepath.Base(dir)) != testJob || filepath.Dir(dir) != "/dev/shm" {
		t.Fatalf("directory %q", dir)
	}
	if left := mpidirs.Find(a.files()); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

// TestNothingIsMadeBeforeTheLaunch is for a steward that is killed before, and a job.
func TestNothingIsMadeBeforeTheLaunch(t *testing.T) {
	a := start(t)
	a.ready(a.order(1, sh("true"), withSpec(func(s *scorev1.JobSpec) { s.Mpi = scorev1.MpiMode_MPI_MODE_PMIX })))
	if made := mpidirs.Find(a.files()); len(made) > 0 {
		t.Errorf("made: %v", made)
	}
	a.do(a.conn.Kill())
	a.exits()
	if left := mpidirs.Find(a.files()); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

// TestOffers is for what ranks find in their environment.
func TestOffers(t *testing.T) {
	for mode, want := range map[scorev1.MpiMode]string{
		scorev1.MpiMode_MPI_MODE_PMI:         "PMI_FD",
		scorev1.MpiMode_MPI_MODE_PMIX:        "PMIX_RANK",
		scorev1.MpiMode_MPI_MODE_NONE:        "",
		scorev1.MpiMode_MPI_MODE_UNSPECIFIED: "PMI_FD PMIX_RANK",
	} {
		a := start(t)
		a.run(1, sh(`for v in PMI_FD PMIX_RANK; do env | grep -q "^$v=" && echo $v; done; true`), withSpec(func(s *scorev1.JobSpec) { s.Mpi = mode }))
		out := readAll(t, a.stdio())
		if got := strings.Join(strings.Fields(out[stream{0, 1}]), " "); got != want {
			t.Errorf("%v: %q, want %q", mode, got, want)
		}
		a.exits()
	}
}

// TestReachableOnOneHost: by routes, Open MPI 5 does not reach a host's own IPv6 address.
func TestReachableOnOneHost(t *testing.T) {
	for _, c := range []struct{ name, address, mine, want string }{
		{"one host", "127.0.0.1:1", "", "weighted"},
		{"several hosts", "192.0.2.1:1", "", "unset"},
		{"the user's", "127.0.0.1:1", "OMPI_MCA_reachable=netlink", "netlink"},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := start(t)
			a.run(1, sh("echo ${OMPI_MCA_reachable:-unset}"), withSpec(func(s *scorev1.JobSpec) {
				s.Mpi, s.Env = scorev1.MpiMode_MPI_MODE_PMIX, append(s.Env, c.mine)
			}), func(p *stewardpb.PrepareJob) { p.Job.Places[0].Address = c.address })
			if got := strings.TrimSpace(readAll(t, a.stdio())[stream{0, 1}]); got != c.want {
				t.Errorf("%q, not %q", got, c.want)
			}
			a.exits()
		})
	}
}
