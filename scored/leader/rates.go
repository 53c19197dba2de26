package leader

import (
	"score/scored/api/scorev1"
	"time"
)

// rateSpan is the shortest time between two reports that gives a rate: reports of a delayed node
// arrive close together.
const rateSpan = 500 * time.Millisecond

// rates are the rates of a job's part: the difference between two reports of its node.
type rates struct {
	from                        int64          // when the earlier report came
	at                          int64          // when the later report came
	usage                       *scorev1.Usage // in the earlier report
	share                       float64
	sent, bytes, nacked, resent float64 // per second
}

// measure updates the rates, if the earlier report is old enough.
func (r *rates) measure(usage *scorev1.Usage, now int64) {
	span := now - r.from
	if span < rateSpan.Nanoseconds() {
		return
	}
	was, is := r.usage.GetMessages(), usage.GetMessages()
	perSecond := func(was, is uint64) float64 { return float64(is-min(was, is)) / time.Duration(span).Seconds() }
	r.share = min(float64(max(usage.GetRunNanos()-r.usage.GetRunNanos(), 0))/float64(span), 1)
	r.sent, r.bytes = perSecond(was.GetSent(), is.GetSent()), perSecond(was.GetSentBytes(), is.GetSentBytes())
	r.nacked, r.resent = perSecond(was.GetNacked(), is.GetNacked()), perSecond(was.GetResent(), is.GetResent())
	r.from, r.at, r.usage = now, now, usage
}
