package pmi

import (
	"slices"
	"strings"
	"testing"
)

func TestEnviron(t *testing.T) {
	e, err := NewEngine(JobInfo{KVSName: "score_7", RankNode: []int32{0, 1, 0}, NodeIndex: 0})
	if err != nil {
		t.Fatal(err)
	}
	got := e.Environ([]string{"HOME=/root"}, 2, 5)
	want := []string{
		"HOME=/root", "PMI_FD=5", "PMI_RANK=2", "PMI_SIZE=3", "PMI_JOBID=score_7",
		"MPI_LOCALNRANKS=2", "MPI_LOCALRANKID=1",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := e.Environ(nil, 1, 5); got != nil {
		t.Errorf("a rank of another node is given %q", got)
	}
}

func TestEnvironOfSpawned(t *testing.T) {
	e, err := NewEngine(JobInfo{KVSName: "score_8", RankNode: []int32{0}, SpawnerJob: "score_7"})
	if err != nil {
		t.Fatal(err)
	}
	if got := e.Environ(nil, 0, 3); !slices.Contains(got, "PMI_SPAWNED=1") {
		t.Errorf("a spawned rank is not told so: %q", got)
	}
}

func TestInherited(t *testing.T) {
	env := []string{
		"PATH=/bin", "PMI_RANK=0", "PMI_FD=9", "PMIX_NAMESPACE=x", "PMI2_X=1", "OMPI_COMM_WORLD_RANK=1",
		"OMPI_MCA_btl=self,tcp", "OMPI_MCA_orte_ess_jobid=1", "OMPI_MCA_ess=env", "HYDI_CONTROL_FD=7",
		"MPI_LOCALRANKID=0", "OMPI_MCA_pmix_base_async_modex=1", "SLURM_JOB_ID=3", "SLURM_PMI_FD=4",
		"MPIR_CVAR_CH3_INTERFACE_HOSTNAME=vm", "MPIR_CVAR_DEBUG_SUMMARY=1", "PMIND=kept", "NOVALUE",
		"PMIX_MCA_gds=ds21", "PMIX_MCA_ptl=usock", "PMIX_MCA_psec=none", "PMIX_MCA_bfrops=v3", "PMIX_MCA_pcompress=^zlib",
		"PMIX_MCA_gds_base_verbose=5", "PMIX_DEBUG=1", "PMIX_INSTALL_PREFIX=/opt", "PMIX_SERVER_TMPDIR=/tmp", "PMIX_GDS_MODULE=ds21",
	}
	want := []string{
		"PATH=/bin", "OMPI_MCA_btl=self,tcp", "OMPI_MCA_pmix_base_async_modex=1", "SLURM_JOB_ID=3",
		"MPIR_CVAR_DEBUG_SUMMARY=1", "PMIND=kept", "NOVALUE",
		"PMIX_MCA_pcompress=^zlib", "PMIX_MCA_gds_base_verbose=5", "PMIX_DEBUG=1", "PMIX_INSTALL_PREFIX=/opt",
	}
	got := slices.DeleteFunc(env, func(variable string) bool {
		name, _, _ := strings.Cut(variable, "=")
		return Inherited(name)
	})
	if !slices.Equal(got, want) {
		t.Errorf("got %q\nwant %q", got, want)
	}
}
