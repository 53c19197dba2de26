package messages

import (
	"bufio"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
)

// Chart collects curves, for a table and a picture.
type Chart struct{ lines []line }

// The two measures of a curve.
const (
	measureLatency   = "latency"
	measureBandwidth = "bandwidth"
)

var units = map[string]string{measureLatency: "us", measureBandwidth: "GB/s"}

// line is one measure of one program on one path.
type line struct {
	path          Path
	measure, name string
	points        []point
}

// point has what several runs gave.
type point struct {
	size             int
	min, median, max float64
	runs             int
}

// Add adds the runs of a program on a path.
func (c *Chart) Add(path Path, name string, runs []Curve) {
	c.add(path, measureLatency, name, runs, func(r Curve, size int) float64 { return r.Latency[size] / 1e3 })
	c.add(path, measureBandwidth, name, runs, func(r Curve, size int) float64 {
		if r.Stream[size] == 0 {
			return 0
		}
		return r.Bandwidth(size)
	})
	slices.SortFunc(c.lines, func(a, b line) int {
		return strings.Compare(string(a.path)+a.measure+a.name, string(b.path)+b.measure+b.name)
	})
}

func (c *Chart) add(path Path, measure, name string, runs []Curve, of func(Curve, int) float64) {
	l := line{path: path, measure: measure, name: name}
	for _, size := range LongSizes {
		var xs []float64
		for _, r := range runs {
			if x := of(r, size); x > 0 && !math.IsInf(x, 0) {
				xs = append(xs, x)
			}
		}
		if len(xs) == 0 {
			continue
		}
		slices.Sort(xs)
		l.points = append(l.points, point{size, xs[0], xs[len(xs)/2], xs[len(xs)-1], len(xs)})
	}
	if len(l.points) > 0 {
		c.lines = append(c.lines, l)
	}
}

// WriteTable writes comma-separated values after the comment.
func (c *Chart) WriteTable(file, comment string) error {
	f, err := os.Create(file)
	if err != nil {
		return err
	}
	defer f.Close()
	w := bufio.NewWriter(f)
	fmt.Fprint(w, comment)
	fmt.Fprintln(w, "path,measure,unit,program,bytes,median,least,most,runs")
	for _, l := range c.lines {
		for _, p := range l.points {
			fmt.Fprintf(w, "%s,%s,%s,%q,%d,%.4g,%.4g,%.4g,%d\n", l.path, l.measure, units[l.measure], l.name, p.size, p.median, p.min, p.max, p.runs)
		}
	}
	if err := w.Flush(); err != nil {
		return err
	}
	return f.Close()
}
