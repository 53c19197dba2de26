package soak

import (
	"math"
	"testing"
)

func TestSlope(t *testing.T) {
	for name, c := range map[string]struct {
		values []float64
		want   float64
	}{
		"nothing":      {nil, 0},
		"one":          {[]float64{5}, 0},
		"flat":         {[]float64{5, 5, 5, 5}, 0},
		"a leak":       {[]float64{1, 2, 3, 4, 5}, 4},
		"saw teeth":    {[]float64{1, 9, 1, 9, 1, 9, 1, 9, 1}, 0},
		"one outlier":  {[]float64{5, 5, 9, 5, 5}, 0},
		"it goes down": {[]float64{4, 3, 2}, -2},
	} {
		var points []point
		for i, v := range c.values {
			points = append(points, point{at: float64(10 * i), value: v})
		}
		if got := rise(points); math.Abs(got-c.want) > 1e-9 {
			t.Errorf("%s rises by %v, want %v", name, got, c.want)
		}
	}
}
