// Package hostile lets users who mean no good loose on a real cluster: they connect and say
// nothing, send requests that are too large or never end, submit thousands of jobs, and try every
// method on another's job. Meanwhile others must be served, and afterwards nothing may be known or
// changed that is not theirs.
package hostile
