package cli

import (
	"cmp"
	"score/scored/api/scorev1"
)

// topSort is an order of the jobs. Users choose it by name with a flag, or by a key in the live
// view.
type topSort struct {
	name  string
	key   byte
	value func(*scorev1.TopJob) float64 // the largest comes first; nil: by number of job
}

var topSorts = []topSort{
	{"job", 'j', nil},
	{"share", 'c', (*scorev1.TopJob).GetShare},
	{"messages", 'm', (*scorev1.TopJob).GetSentPerSecond},
	{"bytes", 'b', (*scorev1.TopJob).GetBytesPerSecond},
	{"refused", 'r', (*scorev1.TopJob).GetNackedPerSecond},
	{"resent", 'e', (*scorev1.TopJob).GetResentPerSecond},
	{"flush", 'f', func(j *scorev1.TopJob) float64 { return float64(j.GetFlush().GetMedianNanos()) }},
	{"switch", 'w', func(j *scorev1.TopJob) float64 { return float64(j.GetTotal().GetMedianNanos()) }},
}

func topSortNames() (names []string) {
	for _, s := range topSorts {
		names = append(names, s.name)
	}
	return names
}

// compare compares two jobs. Waiting jobs come last; jobs of equal value are in the order of their
// numbers.
func (s topSort) compare(x, y *scorev1.TopJob) int {
	waits := func(j *scorev1.TopJob) int {
		if j.GetState() == scorev1.JobState_JOB_STATE_QUEUED {
			return 1
		}
		return 0
	}
	order := cmp.Compare(waits(x), waits(y))
	if s.value != nil {
		order = cmp.Or(order, cmp.Compare(s.value(y), s.value(x)))
	}
	return cmp.Or(order, cmp.Compare(x.GetJobId(), y.GetJobId()))
}
