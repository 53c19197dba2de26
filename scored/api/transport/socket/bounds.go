package socket

import (
	"net/http"
	"time"
)

const (
	// maxCallsOfUser bounds the calls under way: an attached scrun has two.
	maxCallsOfUser = 4096
	// maxBytesOfUser bounds the received bytes of their requests: a thousand submissions at once
	// with an environment of the usual size, or a few of the largest.
	maxBytesOfUser = 64 << 20
	// maxCallsOfAgent and maxBytesOfAgent bound all users of an agent's host together, and an agent
	// that invents users: four users at their bounds.
	maxCallsOfAgent = 4 * maxCallsOfUser
	maxBytesOfAgent = 4 * maxBytesOfUser

	// maxReadsOfUser bounds the calls of a user that are answered at once with what may be large: a
	// page of jobs, or a job with its command line and environment, some MiB, which the daemon
	// keeps until the caller has taken it. More calls wait for their turn, so that whoever takes no
	// answers delays only his own.
	maxReadsOfUser  = 16
	maxReadsOfAgent = 4 * maxReadsOfUser
	// maxTurnsOfUser bounds the other calls of a user that are handled at once; more wait for their
	// turn. The leader decides in the order of arrival, so another user's call waits for all that
	// are being handled. 16 are enough to share the commits.
	maxTurnsOfUser  = 16
	maxTurnsOfAgent = 4 * maxTurnsOfUser
	// turnTime bounds the turn of a call that may wait for something that is not the daemon's: the
	// end of a job, or what ranks write. A user can begin at least 1,600 of these per second.
	turnTime = 10 * time.Millisecond
)

// Bounds are the bounds on the load that one party can cause.
type Bounds struct {
	// Whose returns the party that a request counts for, as a comparable value.
	Whose func(*http.Request) (any, error)
	// Calls under way, and Bytes of their requests.
	Calls int
	Bytes int64
	// Reads are the calls that are answered at the same time with what may be large, Turns the
	// others that are handled at the same time.
	Reads, Turns int
	// TooMany and TooLarge are the errors beyond them, with a formatting verb for the number of
	// calls, and of MiB.
	TooMany, TooLarge string
}

// OfUser returns the bounds of each user.
func OfUser(whose func(*http.Request) (any, error)) Bounds {
	return Bounds{
		Whose: whose, Calls: maxCallsOfUser, Bytes: maxBytesOfUser, Reads: maxReadsOfUser, Turns: maxTurnsOfUser,
		TooMany:  "%d of your calls are under way, and there can be no more; wait until some are over",
		TooLarge: "your requests that are under way take more than %d MiB; send fewer at once",
	}
}

// OfAgent returns the bounds of all users of an agent's host together.
func OfAgent(whose func(*http.Request) (any, error)) Bounds {
	return Bounds{
		Whose: whose, Calls: maxCallsOfAgent, Bytes: maxBytesOfAgent, Reads: maxReadsOfAgent, Turns: maxTurnsOfAgent,
		TooMany:  "%d calls by way of this host's agent are under way, and there can be no more; wait until some are over",
		TooLarge: "the requests by way of this host's agent that are under way take more than %d MiB; wait until some are over",
	}
}
