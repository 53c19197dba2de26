package messages

import (
	"context"
	_ "embed" // for the program
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
)

// MPI is one of Debian's implementations of MPI, with the program messages.c.
type MPI struct {
	Name     string
	compiler string
	packages string
	command  func(path Path, program string) []string
	env      map[Path][]string
	program  string
}

// MPICH is Debian's, over UCX.
func MPICH() *MPI {
	return &MPI{
		Name: "mpich", compiler: "mpicc.mpich", packages: "mpich libmpich-dev",
		command: func(_ Path, program string) []string { return []string{"mpiexec.hydra", "-n", "2", program} },
		// Without MPIR_CVAR_NOLOCAL it would find out that the two nodes are one.
		env: map[Path][]string{UDP: {"MPIR_CVAR_NOLOCAL=1", "UCX_TLS=tcp,self"}},
	}
}

// OpenMPI is Debian's, with its own transports, the fastest it has here.
func OpenMPI() *MPI {
	transports := map[Path]string{Shm: "self,vader", UDP: "self,tcp"}
	return &MPI{
		Name: "openmpi", compiler: "mpicc.openmpi", packages: "openmpi-bin libopenmpi-dev",
		command: func(path Path, program string) []string {
			return []string{
				"mpirun.openmpi", "-n", "2", "--bind-to", "none", "--mca", "pml", "ob1", "--mca", "btl", transports[path],
				"--mca", "btl_tcp_if_include", "lo", "--mca", "mpi_yield_when_idle", "0", "--mca", "btl_base_warn_component_unused", "0",
				"--oversubscribe", program,
			}
		},
		env: map[Path][]string{
			Shm: {"OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1"},
			UDP: {"OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1"},
		},
	}
}

// Missing describes which packages have to be installed; "" if none.
func (m *MPI) Missing() string {
	for _, program := range []string{m.compiler, m.command(Shm, "")[0]} {
		if _, err := exec.LookPath(program); err != nil {
			return m.packages
		}
	}
	return ""
}

//go:embed testdata/messages.c
var mpiSource []byte

// Build compiles the program into the directory.
func (m *MPI) Build(ctx context.Context, dir string) error {
	m.program = filepath.Join(dir, "messages-"+m.Name)
	source := m.program + ".c"
	if err := os.WriteFile(source, mpiSource, 0o600); err != nil {
		return err
	}
	out, err := exec.CommandContext(ctx, m.compiler, "-O2", "-Wall", "-o", m.program, source).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s %s: %w: %s", m.compiler, source, err, out)
	}
	return nil
}

// Measure measures a plan.
func (m *MPI) Measure(ctx context.Context, path Path, plan Plan) (Curve, error) {
	cpus, err := CPUs()
	if err != nil {
		return Curve{}, err
	}
	args := append(m.command(path, m.program), plan.String(), fmt.Sprint(cpus[0]), fmt.Sprint(cpus[1]))
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Env = append(os.Environ(), m.env[path]...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM}
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return Curve{}, fmt.Errorf("%s: %w: %s", strings.Join(args, " "), err, stderr.String())
	}
	return ParseCurve(string(out))
}
