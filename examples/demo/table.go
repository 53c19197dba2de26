package main

import (
	"fmt"
	"io"
	"score/scored/api/scorev1"
	"text/tabwriter"
	"time"
)

func printTables(w io.Writer, alone, gang, plain []result, m *scorev1.SwitchMetricsResponse) {
	sequence := time.Duration(len(gang)) * alone[0].elapsed
	fmt.Fprintf(w, "\nJobs\n")
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "\thow\trun time\tgang on\tslices\tCPU time\t")
	for _, r := range alone {
		printJob(t, "alone", r)
	}
	for _, r := range gang {
		printJob(t, "gang-scheduled", r)
	}
	for _, r := range plain {
		fmt.Fprintf(t, "%s\tplain Linux\t%s\t-\t-\t%s\t\n", r.name, seconds(r.elapsed), seconds(r.cpu))
	}
	_ = t.Flush() // it only writes to w
	printSwitches(w, m)
	fmt.Fprintf(w, "\nBoth programs, relative to one after the other (%s):\n", seconds(sequence))
	fmt.Fprintf(w, "  gang-scheduled  %s  %.2f times as long\n", seconds(longest(gang)), longest(gang).Seconds()/sequence.Seconds())
	fmt.Fprintf(w, "  plain Linux     %s  %.2f times as long\n", seconds(longest(plain)), longest(plain).Seconds()/sequence.Seconds())
}

func printJob(w io.Writer, how string, r result) {
	u := r.job.GetUsage()
	fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%d\t%s\t\n", r.name, how, seconds(r.elapsed),
		seconds(time.Duration(u.GetRunNanos())), u.GetSlices(), seconds(time.Duration(u.GetCpuNanos())))
}

func printSwitches(w io.Writer, m *scorev1.SwitchMetricsResponse) {
	fmt.Fprintf(w, "\nSwitches\n")
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "node\tstep\tcount\tmedian\tp99\tmax\t")
	for _, g := range m.GetGroups() {
		if g.GetJobId() != 0 {
			continue
		}
		for _, s := range g.GetSteps() {
			printStep(t, g.GetNode(), s.GetStep(), s)
		}
	}
	printStep(t, "all", "skew", m.GetSkew())
	printStep(t, "all", "planned to running", m.GetToRunning())
	_ = t.Flush() // it only writes to w
}

func printStep(w io.Writer, node, step string, s *scorev1.StepTimes) {
	if s.GetCount() == 0 {
		return
	}
	fmt.Fprintf(w, "%s\t%s\t%d\t%s\t%s\t%s\t\n", node, step, s.GetCount(),
		micros(s.GetMedianNanos()), micros(s.GetP99Nanos()), micros(s.GetMaxNanos()))
}

func longest(results []result) (most time.Duration) {
	for _, r := range results {
		most = max(most, r.elapsed)
	}
	return most
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.2f s", d.Seconds()) }

func micros(nanos int64) string { return fmt.Sprintf("%.0f us", float64(nanos)/1e3) }
