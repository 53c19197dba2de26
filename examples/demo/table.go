package main

import (
	"fmt"
	"io"
	"score/scored/api/scorev1"
	"text/tabwriter"
	"time"
)

func printTables(out io.Writer, w ways, m *scorev1.SwitchMetricsResponse) {
	fmt.Fprintf(out, "\nJobs\n")
	t := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "\thow\trun time\tgang on\tslices\tCPU time\t")
	printJobs(t, "alone", w.alone)
	printJobs(t, "gang-scheduled", w.gang)
	printJobs(t, "alone, over channels", w.channelsAlone)
	printJobs(t, "gang-scheduled, over channels", w.channels)
	for _, r := range w.plain {
		fmt.Fprintf(t, "%s\tplain Linux\t%s\t-\t-\t%s\t\n", r.name, seconds(r.elapsed), seconds(r.cpu))
	}
	_ = t.Flush() // it only writes to out
	printSwitches(out, m)
	fmt.Fprintf(out, "\nBoth programs, relative to one after the other:\n")
	relative := func(how string, both, alone []result) {
		sequence := time.Duration(len(both)) * longest(alone)
		fmt.Fprintf(out, "  %-30s %s of %s, %.2f times as long\n", how, seconds(longest(both)), seconds(sequence), longest(both).Seconds()/sequence.Seconds())
	}
	relative("gang-scheduled", w.gang, w.alone)
	relative("gang-scheduled, over channels", w.channels, w.channelsAlone)
	relative("plain Linux", w.plain, w.alone)
}

func printJobs(w io.Writer, how string, results []result) {
	for _, r := range results {
		printJob(w, how, r)
	}
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
	fmt.Fprintln(w, "('stop' is seen later, while the next program runs, and is no part of 'total'.)")
}

func printStep(w io.Writer, node, step string, s *scorev1.StepTimes) {
	if s.GetCount() == 0 {
		return
	}
	fmt.Fprintf(w, "%s\t%s\t%d\t%s\t%s\t%s\t\n", node, step, s.GetCount(),
		micros(s.GetMedianNanos()), micros(s.GetP99Nanos()), micros(s.GetMaxNanos()))
}

func longest(results []result) (longestTime time.Duration) {
	for _, r := range results {
		longestTime = max(longestTime, r.elapsed)
	}
	return longestTime
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.2f s", d.Seconds()) }

func micros(nanos int64) string { return fmt.Sprintf("%.0f us", float64(nanos)/1e3) }
