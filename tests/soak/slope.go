package soak

// point is a measurement at a time, in seconds.
type point struct{ at, value float64 }

// rise returns how much a quantity rose from the first to the last point on the straight line
// nearest to all of them (least squares), so that a single point means little.
func rise(points []point) float64 {
	n := float64(len(points))
	if n < 2 {
		return 0
	}
	var at, value float64
	for _, p := range points {
		at, value = at+p.at/n, value+p.value/n
	}
	var above, below float64
	for _, p := range points {
		above += (p.at - at) * (p.value - value)
		below += (p.at - at) * (p.at - at)
	}
	if below == 0 {
		return 0
	}
	return above / below * (points[len(points)-1].at - points[0].at)
}
