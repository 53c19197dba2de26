package histogram_test

import (
	"fmt"
	"score/ctxswitch/histogram"
	"time"
)

func Example() {
	var stop, cluster histogram.Histogram
	for i := range 100 {
		stop.Record(time.Duration(i) * time.Microsecond)
	}
	cluster.Merge(&stop)
	fmt.Println(cluster.Count(), cluster.Quantile(0.5).Round(5*time.Microsecond), cluster.Max())
	// Output: 100 50µs 99µs
}
