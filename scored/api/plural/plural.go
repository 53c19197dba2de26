// Package plural counts things in sentences.
package plural

import "fmt"

// Of returns a number and what there is of it: "1 job runs" or "3 jobs run".
func Of[N int | uint32 | uint64](n N, one, many string) string {
	return fmt.Sprintf("%d %s", n, Word(n, one, many))
}

// Word returns the word that fits the number.
func Word[N int | uint32 | uint64](n N, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}
