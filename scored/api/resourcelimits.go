package api

import (
	"errors"
	"fmt"
	"score/scored/api/scorev1"
	"score/scored/api/scorev1/scorev1connect"
	"strconv"
	"strings"
)

// ForLimits is the header in which the daemon that takes a user's submission
// adds the resource limits of the submitting process. Daemons delete it from
// users' own requests.
const ForLimits = "Score-For-Limits"

// ResourceLimits is how many resource limits Linux has, RLIMIT_CPU (0) to
// RLIMIT_RTTIME (15).
const ResourceLimits = 16

// maxLimitsText bounds the header: each limit has at most two numbers of 20
// digits, a number of two, and three separators.
const maxLimitsText = ResourceLimits * (2*20 + 2 + 3)

var errLimitsText = errors.New("the resource limits of the submitting process are not readable")

// TakesLimits reports whether calls of the procedure carry the limits of the
// calling process.
func TakesLimits(procedure string) bool {
	return procedure == scorev1connect.JobServiceSubmitProcedure
}

// FormatLimits writes limits as the value of ForLimits, as in "7=1024:20000,4=0:0".
func FormatLimits(limits []*scorev1.ResourceLimit) string {
	words := make([]string, len(limits))
	for i, l := range limits {
		words[i] = fmt.Sprintf("%d=%d:%d", l.GetResource(), l.GetSoft(), l.GetHard())
	}
	return strings.Join(words, ",")
}

// ParseLimits reads what FormatLimits wrote.
func ParseLimits(text string) ([]*scorev1.ResourceLimit, error) {
	if text == "" || len(text) > maxLimitsText {
		return nil, errLimitsText
	}
	words := strings.Split(text, ",")
	limits := make([]*scorev1.ResourceLimit, len(words))
	for i, word := range words {
		resource, values, _ := strings.Cut(word, "=")
		soft, hard, _ := strings.Cut(values, ":")
		var n [3]uint64
		for k, digits := range [...]string{resource, soft, hard} {
			value, err := strconv.ParseUint(digits, 10, 64)
			if err != nil {
				return nil, errLimitsText
			}
			n[k] = value
		}
		if n[0] >= ResourceLimits {
			return nil, errLimitsText
		}
		limits[i] = &scorev1.ResourceLimit{Resource: uint32(n[0]), Soft: n[1], Hard: n[2]}
	}
	return limits, nil
}

// BoundLimits returns the limits that a submission gets: those that it claims, bounded by those of
// the submitting process. Any process may raise a soft limit up to its hard one, so hard limits
// bound both. Limits that are not claimed are those of the process.
func BoundLimits(claimed, has []*scorev1.ResourceLimit) []*scorev1.ResourceLimit {
	claims := make(map[uint32]*scorev1.ResourceLimit, len(claimed))
	for _, l := range claimed {
		claims[l.GetResource()] = l
	}
	bound := make([]*scorev1.ResourceLimit, len(has))
	for i, l := range has {
		soft, hard := l.GetSoft(), l.GetHard()
		if wants := claims[l.GetResource()]; wants != nil {
			hard = min(wants.GetHard(), hard)
			soft = min(wants.GetSoft(), hard)
		}
		bound[i] = &scorev1.ResourceLimit{Resource: l.GetResource(), Soft: soft, Hard: hard}
	}
	return bound
}
