package fabric

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestChoose(t *testing.T) {
	open, mpich, static := Program{Name: "a.out", Kind: OpenMPI}, Program{Name: "a.out", Kind: OtherMPI}, Program{Name: "a.out", Kind: Static}
	shmem := Program{Name: "a.out", Kind: OpenSHMEM}
	gasnet := Program{Name: "a.out", Kind: GASNet}
	overFabric, embedded, closed := Program{Name: "a.out", Kind: MPICH}, Program{Name: "a.out", Kind: EmbeddedMPICH}, Program{Name: "a.out", Kind: ClosedMPICH}
	newer := Program{Name: "a.out", Kind: Newer}
	fabric, script, other := Program{Name: "a.out", Kind: Libfabric}, Program{Name: "run.sh", Kind: Interpreter}, Program{Name: "hostname", Kind: Unknown}
	inside := Program{Name: "a.out", Kind: OpenMPI, Container: "apptainer"}
	for _, c := range []struct {
		name    string
		request Request
		use     bool
		err     string
	}{
		{"auto, several nodes", Request{Wish: Auto, Program: open, Nodes: 2}, true, ""},
		{"auto, one node", Request{Wish: Auto, Program: open, Nodes: 1}, false, ""},
		{"auto, nodes not known", Request{Wish: Auto, Program: open}, false, ""},
		{"auto, the user has chosen", Request{Wish: Auto, Program: open, Nodes: 2, Chosen: "OMPI_MCA_pml"}, false, ""},
		{"auto, no channels", Request{Wish: Auto, Program: open, Nodes: 2, NoChannels: true}, false, ""},
		{"auto, ulimit -v", Request{Wish: Auto, Program: open, Nodes: 2, AddressSpace: 1 << 30}, false, ""},
		{"auto, a high ulimit -v", Request{Wish: Auto, Program: open, Nodes: 2, AddressSpace: 1 << 40}, true, ""},
		{"auto, MPICH", Request{Wish: Auto, Program: mpich, Nodes: 2}, false, ""},
		{"auto, MPICH over libfabric", Request{Wish: Auto, Program: overFabric, Nodes: 2}, false, ""},
		{"pm, MPICH over libfabric", Request{Wish: PM, Program: overFabric, Nodes: 2}, true, ""},
		{"auto, MPICH with a libfabric inside", Request{Wish: Auto, Program: embedded, Nodes: 2}, false, ""},
		{"pm, MPICH with a libfabric inside", Request{Wish: PM, Program: embedded, Nodes: 2}, true, ""},
		{"auto, MPICH with a closed libfabric inside", Request{Wish: Auto, Program: closed, Nodes: 2}, false, ""},
		{"auto, a newer libfabric", Request{Wish: Auto, Program: newer, Nodes: 2, OwnLibfabric: true}, false, ""},
		{"pm, a newer libfabric", Request{Wish: PM, Program: newer, Nodes: 2}, false, "libfabric 2.6 or an older one"},
		{"pm, a newer libfabric of the user's own", Request{Wish: PM, Program: newer, Nodes: 2, OwnLibfabric: true}, true, ""},
		{"auto, FI_PROVIDER is set", Request{Wish: Auto, Program: open, Nodes: 2, Chosen: "FI_PROVIDER"}, false, ""},
		{"auto, mpirun", Request{Wish: Auto, Program: Program{Name: "mpirun", Kind: Launcher}, Nodes: 2}, false, ""},
		{"pm, mpirun", Request{Wish: PM, Program: Program{Name: "mpirun", Kind: Launcher}, Nodes: 2}, false, "starts processes of its own"},
		{"auto, libfabric", Request{Wish: Auto, Program: fabric, Nodes: 2}, false, ""},
		{"auto, OpenSHMEM", Request{Wish: Auto, Program: shmem, Nodes: 2}, true, ""},
		{"auto, OpenSHMEM, one node", Request{Wish: Auto, Program: shmem, Nodes: 1}, true, ""},
		{"auto, OpenSHMEM, nodes not known", Request{Wish: Auto, Program: shmem}, true, ""},
		{"auto, OpenSHMEM, the user has chosen", Request{Wish: Auto, Program: shmem, Nodes: 2, ChosenProvider: "FI_PROVIDER"}, false, ""},
		{"auto, OpenSHMEM, no channels", Request{Wish: Auto, Program: shmem, Nodes: 2, NoChannels: true}, false, ""},
		{"pm, OpenSHMEM", Request{Wish: PM, Program: shmem, Nodes: 1}, true, ""},
		{"auto, GASNet", Request{Wish: Auto, Program: gasnet, Nodes: 2}, true, ""},
		{"auto, GASNet, one node", Request{Wish: Auto, Program: gasnet, Nodes: 1, Chosen: "OMPI_MCA_pml"}, true, ""},
		{"auto, GASNet, no channels", Request{Wish: Auto, Program: gasnet, Nodes: 2, NoChannels: true}, false, ""},
		{"auto, script", Request{Wish: Auto, Program: script, Nodes: 2}, true, ""},
		{"auto, script, one node", Request{Wish: Auto, Program: script, Nodes: 1}, false, ""},
		{"auto, container", Request{Wish: Auto, Program: inside, Nodes: 2}, false, ""},
		{"pm, container", Request{Wish: PM, Program: inside, Nodes: 2}, true, ""},
		{"auto, another program", Request{Wish: Auto, Program: other, Nodes: 2}, false, ""},
		{"pm", Request{Wish: PM, Program: open}, true, ""},
		{"pm, though the user has chosen", Request{Wish: PM, Program: open, Chosen: "OMPI_MCA_pml"}, true, ""},
		{"pm, libfabric", Request{Wish: PM, Program: fabric, Nodes: 1}, true, ""},
		{"pm, MPICH over libfabric", Request{Wish: PM, Program: overFabric, Nodes: 1}, true, ""},
		{"pm, script", Request{Wish: PM, Program: script, Nodes: 1}, true, ""},
		{"pm, MPICH", Request{Wish: PM, Program: mpich, Nodes: 2}, false, "a.out was built with an MPI library that does not use libfabric"},
		{"pm, static", Request{Wish: PM, Program: static, Nodes: 2}, false, "a.out is static"},
		{"pm, GASNet", Request{Wish: PM, Program: gasnet, Nodes: 1}, true, ""},
		{"none", Request{Wish: None, Program: open, Nodes: 2}, false, ""},
		{"none, GASNet", Request{Wish: None, Program: gasnet, Nodes: 2}, false, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			choice, err := Choose(c.request)
			if choice.Use != c.use || (err == nil) != (c.err == "") {
				t.Errorf("%+v, %v", choice, err)
			}
			if choice.IfAble != (choice.Use && c.request.Wish == Auto && c.request.Program == script) {
				t.Errorf("%+v", choice)
			}
			if silent := c.request.Wish == Auto && c.request.Program == other; err == nil && (choice.Why == "") != silent {
				t.Errorf("the reason: %q", choice.Why)
			}
			if err != nil && (!errors.Is(err, ErrProgram) || !strings.Contains(err.Error(), c.err)) {
				t.Errorf("%v, want %q", err, c.err)
			}
		})
	}
}

func TestUndecided(t *testing.T) {
	open := Program{Name: "a.out", Kind: OpenMPI}
	for _, c := range []struct {
		request Request
		want    bool
	}{
		{Request{Wish: Auto, Program: open}, true},
		{Request{Wish: Auto, Program: open, Nodes: 1}, false},
		{Request{Wish: Auto, Program: open, NoChannels: true}, false},
		{Request{Wish: Auto, Program: open, Chosen: "OMPI_MCA_btl"}, false},
		{Request{Wish: Auto, Program: open, AddressSpace: 1}, false},
		{Request{Wish: Auto, Program: Program{Name: "run.sh", Kind: Interpreter}}, true},
		{Request{Wish: Auto, Program: Program{Name: "hostname", Kind: Unknown}}, false},
		{Request{Wish: Auto, Program: Program{Name: "a.out", Kind: GASNet}}, false},
		{Request{Wish: PM, Program: open}, false},
	} {
		if got := c.request.Undecided(); got != c.want {
			t.Errorf("%+v: %t", c.request, got)
		}
	}
}

func TestParseWish(t *testing.T) {
	for text, want := range map[string]Wish{"auto": Auto, "pm": PM, "none": None} {
		if got, err := ParseWish(text); got != want || err != nil {
			t.Errorf("%s: %v, %v", text, got, err)
		}
	}
	if _, err := ParseWish("tcp"); err == nil {
		t.Error("tcp is no fabric")
	}
}

// withLibrary makes a directory that has the library.
func withLibrary(t *testing.T, dir string) string {
	t.Helper()
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, library), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestEnviron(t *testing.T) {
	own := withLibrary(t, t.TempDir())
	for _, c := range []struct {
		name          string
		env, settings []string
		want          []string // that the environment contains
		kept          []string
	}{
		{
			name: "empty",
			want: []string{
				"LD_LIBRARY_PATH=/l", "FI_PROVIDER=pm", "OMPI_MCA_pml=cm", "OMPI_MCA_mtl=ofi", "OMPI_MCA_osc=sm,pt2pt",
				"OMPI_MCA_memory=^patcher", "MPIR_CVAR_NOLOCAL=1", "IPATH_NO_BACKTRACE=1",
				"GLIBC_TUNABLES=" + mallocTunables,
			},
		},
		{name: "other libraries", env: []string{"LD_LIBRARY_PATH=/a:/b"}, want: []string{"LD_LIBRARY_PATH=/l:/a:/b"}},
		{
			name: "a libfabric of one's own", env: []string{"LD_LIBRARY_PATH=/a:" + own}, kept: []string{"LD_LIBRARY_PATH"},
			want: []string{"LD_LIBRARY_PATH=/a:" + own, "FI_PROVIDER_PATH=/l"},
		},
		{
			name: "set by the user", env: []string{"OMPI_MCA_pml=ob1", "FI_PROVIDER="}, kept: []string{"FI_PROVIDER", "OMPI_MCA_pml"},
			want: []string{"OMPI_MCA_pml=ob1", "FI_PROVIDER=", "OMPI_MCA_mtl=ofi"},
		},
		{
			name: "tunables of one's own", env: []string{"GLIBC_TUNABLES=glibc.malloc.check=3"}, kept: []string{"GLIBC_TUNABLES"},
			want: []string{"GLIBC_TUNABLES=glibc.malloc.check=3"},
		},
		{name: "in the user's file", settings: []string{"OMPI_MCA_osc"}, kept: []string{"OMPI_MCA_osc"}, want: []string{"OMPI_MCA_pml=cm"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			before := slices.Clone(c.env)
			out, kept := Environ(c.env, "/l", Target{}, c.settings)
			for _, v := range c.want {
				if !slices.Contains(out, v) {
					t.Errorf("no %s in %v", v, out)
				}
			}
			if !slices.Equal(kept, c.kept) || !slices.Equal(c.env, before) {
				t.Errorf("kept %v; %v", kept, c.env)
			}
			chosen := isSet(c.env, pml)
			soft, _ := Environ(c.env, "/l", Target{IfAble: true}, c.settings)
			if isSet(soft, pml) != chosen || isSet(soft, btl) || isSet(out, btl) || !isSet(soft, "OMPI_MCA_mtl") {
				t.Errorf("if able: %v", soft)
			}
			five, _ := Environ(c.env, "/l", Target{OpenMPI5: true}, c.settings)
			soft, _ = Environ(c.env, "/l", Target{IfAble: true, OpenMPI5: true}, c.settings)
			if isSet(five, ob1Priority) == chosen || isSet(five, btl) == chosen || isSet(soft, btl) == chosen || isSet(soft, ob1Priority) {
				t.Errorf("Open MPI 5, pml chosen: %v, but %v, if able %v", chosen, five, soft)
			}
			for i, v := range out {
				name, _, _ := strings.Cut(v, "=")
				if isSet(out[i+1:], name) {
					t.Errorf("%s twice in %v", name, out)
				}
			}
		})
	}
}

func TestSettings(t *testing.T) {
	home := t.TempDir()
	if got := Settings(home); got != nil {
		t.Errorf("without a file: %v", got)
	}
	if err := os.Mkdir(filepath.Join(home, ".openmpi"), 0o700); err != nil {
		t.Fatal(err)
	}
	text := "# btl = tcp\n\nmtl=^ofi\n pml = ob1\nnonsense\n"
	if err := os.WriteFile(filepath.Join(home, ".openmpi/mca-params.conf"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	got := Settings(home)
	if !slices.Equal(got, []string{"OMPI_MCA_mtl", "OMPI_MCA_pml"}) {
		t.Errorf("%v", got)
	}
	if Chosen(nil, got) != "OMPI_MCA_pml" || Chosen([]string{"OMPI_MCA_btl=tcp"}, nil) != "OMPI_MCA_btl" || Chosen([]string{"A=b"}, nil) != "" {
		t.Error("not what the user has chosen")
	}
}

func TestFind(t *testing.T) {
	root := t.TempDir()
	bin := filepath.Join(root, "bin")
	if _, err := Find(Place{Dir: root, Programs: bin}); !errors.Is(err, ErrNoLibrary) || !strings.Contains(err.Error(), root) {
		t.Errorf("a directory without it: %v", err)
	}
	for _, dir := range []string{"build/lib", "lib/score"} { // the later goes first
		want := withLibrary(t, filepath.Join(root, dir))
		if got, err := Find(Place{Programs: bin}); err != nil || got != want && got != "/usr/lib/"+triplets["amd64"]+"/score" {
			t.Errorf("%s, %v; want %s", got, err, want)
		}
	}
	own := withLibrary(t, filepath.Join(root, "own"))
	if got, err := Find(Place{Dir: own, Programs: bin}); err != nil || got != own {
		t.Errorf("%s, %v", got, err)
	}
}

// TestChosenProvider: programs of Open MPI know one variable, those of Sandia OpenSHMEM three.
func TestChosenProvider(t *testing.T) {
	for _, c := range []struct{ env, chosen, provider string }{
		{"FI_PROVIDER=tcp", "FI_PROVIDER", "FI_PROVIDER"},
		{"SHMEM_OFI_PROVIDER=tcp", "", "SHMEM_OFI_PROVIDER"},
		{"FI_PROVIDER=pm", "", ""},
		{"FI_PROVIDER=", "", ""},
	} {
		env := []string{"A=b", c.env}
		if chosen, provider := Chosen(env, nil), ChosenProvider(env); chosen != c.chosen || provider != c.provider {
			t.Errorf("%s: %q and %q, want %q and %q", c.env, chosen, provider, c.chosen, c.provider)
		}
	}
}

func TestIsOpenMPI5(t *testing.T) {
	for file, want := range map[string]bool{
		"libmpi.so.40.30.4": false, "libmpi.so.40.20.3": false, "libmpi.so.40.40.7": true, "libmpi.so.40.50.1": true, "libmpi.so.40": false,
	} {
		dir := t.TempDir()
		path := filepath.Join(dir, openMPILibrary)
		if err := os.WriteFile(filepath.Join(dir, file), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if file != openMPILibrary {
			if err := os.Symlink(file, path); err != nil {
				t.Fatal(err)
			}
		}
		if isOpenMPI5(path) != want {
			t.Errorf("%s: %v", file, !want)
		}
	}
	if isOpenMPI5("") {
		t.Error("none is one")
	}
}
