// Package servers tests what becomes of a cluster of three real servers when they are cut off from
// each other, die, are stopped or are replaced, while jobs run and are submitted.
package servers
