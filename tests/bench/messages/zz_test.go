package messages

import ("testing";"os";"fmt";"context";"time";"sort")

func TestTryLayers(t *testing.T) {
	ctx, c := context.WithTimeout(t.Context(), 100*time.Second); defer c()
	u := UCX{Dir: t.TempDir(), Copy: true}
	om, mp := OpenMPI(), MPICH()
	om.Build(ctx, t.TempDir()); mp.Build(ctx, t.TempDir())
	for _, path := range []Path{Shm, UDP} {
		sizes := []int{8, 32 << 10, 64 << 10, 1 << 20, 4 << 20}
		show := func(name string, c Curve, err error, d time.Duration) {
			fmt.Fprintf(os.Stderr, "%-4s %-12s %5.1fs", path, name, d.Seconds())
			if err != nil { fmt.Fprintln(os.Stderr, err); return }
			var ks []int
			for k := range c.Latency { ks = append(ks, k) }
			sort.Ints(ks)
			for _, k := range ks { fmt.Fprintf(os.Stderr, " | %d: %.0f ns %.2f GB/s", k, c.Latency[k], c.Bandwidth(k)) }
			fmt.Fprintf(os.Stderr, " | rate %.2f\n", c.Rate(8))
		}
		for range 1 {
		for _, l := range []Layer{{"pm",false,-1},{"uct",false,-1},{"uct",false,0},{"tag",false,-1},{"tag",true,-1},{"ofi",false,-1}} {
			p := NewPieces(path, sizes, 10)
			if l.Name == "pm" || l.Name == "uct" { p = NewPieces(path, sizes[:2], 10) }
			s := time.Now()
			c, err := OfLayer(ctx, path, p, l)
			show(fmt.Sprint(l, l.LaneBytes), c, err, time.Since(s))
		}
		p := NewPieces(path, sizes, 10)
		s := time.Now()
		c, err := u.Measure(ctx, path, p)
		show("ucx", c, err, time.Since(s)); s = time.Now()
		c, err = om.Measure(ctx, path, p)
		show("openmpi", c, err, time.Since(s)); s = time.Now()
		c, err = mp.Measure(ctx, path, p)
		show("mpich", c, err, time.Since(s))
		}
	}
	fmt.Fprintln(os.Stderr)
	a, err := Remote(ctx); fmt.Fprintln(os.Stderr, a, err)
	a, err = u.Remote(ctx); fmt.Fprintln(os.Stderr, a, err)
	a, err = Matching(ctx); fmt.Fprintln(os.Stderr, a, err)
}
