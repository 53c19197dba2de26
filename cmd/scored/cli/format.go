package cli

import (
	"fmt"
	"score/scored/api/quote"
	"score/scored/api/scorev1"
	"strconv"
	"strings"
	"time"
)

// shortTime shows a duration for people, with as many digits as they compare.
func shortTime(d time.Duration) string {
	switch {
	case d == 0:
		return "0"
	case d < 0:
		return "-" + shortTime(-d)
	case d < time.Microsecond:
		return fmt.Sprintf("%d ns", d.Nanoseconds())
	case d < time.Millisecond:
		return fmt.Sprintf("%.1f us", float64(d)/float64(time.Microsecond))
	case d < time.Second:
		return fmt.Sprintf("%.1f ms", float64(d)/float64(time.Millisecond))
	case d < time.Minute:
		return fmt.Sprintf("%.1f s", d.Seconds())
	default:
		return clockTime(d)
	}
}

// clockTime returns hours:minutes:seconds, with days before it as Slurm writes them.
func clockTime(d time.Duration) string {
	seconds := int64(d / time.Second)
	days, seconds := seconds/86400, seconds%86400
	text := fmt.Sprintf("%d:%02d:%02d", seconds/3600, seconds/60%60, seconds%60)
	if days > 0 {
		return fmt.Sprintf("%d-%s", days, text)
	}
	return text
}

// instant shows a point in time of the cluster, or "-" for none.
func instant(nanos int64) string {
	if nanos == 0 {
		return "-"
	}
	return time.Unix(0, nanos).Format(time.DateTime)
}

// shortBytes shows an amount of memory with the suffixes that --mem takes.
func shortBytes(n uint64) string {
	const units = "KMGT"
	if n < 1024 {
		return strconv.FormatUint(n, 10)
	}
	value, unit := float64(n)/1024, 0
	for value >= 1024 && unit < len(units)-1 {
		value /= 1024
		unit++
	}
	return strings.TrimSuffix(strconv.FormatFloat(value, 'f', 1, 64), ".0") + units[unit:unit+1]
}

// residentWords describes the memory of a job's largest rank. It is not known if ranks were small
// and ended at once.
func residentWords(usage *scorev1.Usage) string {
	if usage.GetMaxRssBytes() == 0 {
		return "-"
	}
	return shortBytes(usage.GetMaxRssBytes())
}

// numbers formats ascending numbers as ranges: "0-3,7".
func numbers(all []uint32) string {
	var out strings.Builder
	for i := 0; i < len(all); {
		last := i
		for last+1 < len(all) && all[last+1] == all[last]+1 {
			last++
		}
		if i > 0 {
			out.WriteByte(',')
		}
		fmt.Fprintf(&out, "%d", all[i])
		if last > i {
			fmt.Fprintf(&out, "-%d", all[last])
		}
		i = last + 1
	}
	if out.Len() == 0 {
		return "-"
	}
	return out.String()
}

// orDash replaces an empty cell by a dash.
func orDash(text string) string {
	if text == "" {
		return "-"
	}
	return text
}

// printable escapes text that others chose (names of jobs), so that it cannot move the cursor.
func printable(text string) string { return quote.Text(text) }
