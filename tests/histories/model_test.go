package histories

import (
	"fmt"
	"slices"
	"testing"

	"github.com/anishathalye/porcupine"
)

// kind is what a client asks for.
type kind string

const (
	submitWaiting kind = "submit a job that waits"
	submitRunning kind = "submit a job that runs"
	cancelJob     kind = "cancel"
	getJob        kind = "get"
	listJobs      kind = "list"
	setPoints     kind = "set"
	getPoints     kind = "read the settings"
)

// input is a request.
type input struct {
	kind  kind
	token string // of a submission: the job's name
	job   uint64 // of cancel and get
	value uint32 // of set
}

// output is the answer to the client. Nobody knows what became of a request whose answer was lost.
type output struct {
	lost    bool
	job     uint64   // of a submission
	ended   bool     // of get and cancel: the job has ended already
	waiting []uint64 // of list, in order
	value   uint32   // of settings
}

// What the model knows of a job, by its number.
const (
	waits  = 'w'
	gone   = 'g'
	passes = 'p' // runs and ends by itself: only its number is known
)

// truth is the state of the model.
type truth struct {
	first uint64 // number of the first job
	jobs  string // of those from first on
	value uint32
}

func (s truth) next() uint64 { return s.first + uint64(len(s.jobs)) }

func (s truth) with(job uint64, now byte) truth {
	jobs := []byte(s.jobs)
	jobs[job-s.first] = now
	s.jobs = string(jobs)
	return s
}

func (s truth) waiting() (ids []uint64) {
	for i, c := range s.jobs {
		if c == waits {
			ids = append(ids, s.first+uint64(i))
		}
	}
	return ids
}

// step reports whether an answer is right, and what is the case then. Of a request whose answer was
// lost it is assumed that it was carried out at some time; what was not is left out of histories
// (resolve), or was without effect.
func (s truth) step(in input, out output) (bool, truth) {
	switch in.kind {
	case submitWaiting, submitRunning:
		job := byte(waits)
		if in.kind == submitRunning {
			job = passes
		}
		right := out.job == s.next()
		s.jobs += string(job)
		return right, s
	case cancelJob:
		known := in.job >= s.first && in.job < s.next()
		if !known {
			return false, s
		}
		return !out.ended, s.with(in.job, gone) // what was cancelled is not what has ended
	case getJob:
		known := in.job >= s.first && in.job < s.next()
		return known && out.ended == (s.jobs[in.job-s.first] == gone), s
	case listJobs:
		return slices.Equal(out.waiting, s.waiting()), s
	case setPoints:
		s.value = in.value
		return true, s
	case getPoints:
		return out.value == s.value, s
	default:
		return false, s
	}
}

// model returns the model of a cluster in which first is the next job's number.
func model(first uint64, value uint32) porcupine.Model {
	return porcupine.Model{
		Init: func() any { return truth{first: first, value: value} },
		Step: func(state, in, out any) (bool, any) { return state.(truth).step(in.(input), out.(output)) },
		DescribeOperation: func(in, out any) string {
			return fmt.Sprintf("%+v -> %+v", in, out)
		},
	}
}

// TestModelRefuses: the check can fail.
func TestModelRefuses(t *testing.T) {
	op := func(call, back int64, in input, out output) porcupine.Operation {
		return porcupine.Operation{Input: in, Call: call, Output: out, Return: back}
	}
	one := op(1, 2, input{kind: submitWaiting, token: "a"}, output{job: 7})
	for name, test := range map[string]struct {
		history []porcupine.Operation
		want    bool
	}{
		"right":                       {[]porcupine.Operation{one, op(3, 4, input{kind: listJobs}, output{waiting: []uint64{7}})}, true},
		"a list at the same time":     {[]porcupine.Operation{one, op(1, 2, input{kind: listJobs}, output{})}, true},
		"an acknowledged job is lost": {[]porcupine.Operation{one, op(3, 4, input{kind: listJobs}, output{})}, false},
		"a number given twice":        {[]porcupine.Operation{one, op(3, 4, input{kind: submitRunning, token: "b"}, output{job: 7})}, false},
		"a job comes back": {[]porcupine.Operation{
			one, op(3, 4, input{kind: cancelJob, job: 7}, output{}), op(5, 6, input{kind: getJob, job: 7}, output{}),
		}, false},
		"cancelled twice": {[]porcupine.Operation{
			one, op(3, 4, input{kind: cancelJob, job: 7}, output{}), op(5, 6, input{kind: cancelJob, job: 7}, output{}),
		}, true},
		"a cancelled job has ended by itself": {[]porcupine.Operation{
			one, op(3, 4, input{kind: cancelJob, job: 7}, output{}), op(5, 6, input{kind: cancelJob, job: 7}, output{ended: true}),
		}, false},
		"a setting of before": {[]porcupine.Operation{
			op(1, 2, input{kind: setPoints, value: 5}, output{}), op(3, 4, input{kind: getPoints}, output{value: 3}),
		}, false},
		"a lost answer": {[]porcupine.Operation{
			op(1, 99, input{kind: setPoints, value: 5}, output{lost: true}), op(3, 4, input{kind: getPoints}, output{value: 3}),
			op(5, 6, input{kind: getPoints}, output{value: 5}),
		}, true},
		"a lost answer that comes and goes": {[]porcupine.Operation{
			op(1, 99, input{kind: setPoints, value: 5}, output{lost: true}), op(3, 4, input{kind: getPoints}, output{value: 5}),
			op(5, 6, input{kind: getPoints}, output{value: 3}),
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := porcupine.CheckOperations(model(7, 3), test.history); got != test.want {
				t.Errorf("linearizable: %v, want %v", got, test.want)
			}
		})
	}
}
