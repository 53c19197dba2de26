package pmi

import (
	"fmt"
	"strconv"
)

// ParseInt reads the value of a key that must be a decimal number of at most 32 bits. The error is
// ErrMalformed.
func ParseInt(key, text string) (int, error) {
	n, err := strconv.ParseInt(text, 10, 32)
	if err != nil {
		return 0, fmt.Errorf("%w: %s=%.32q is not a number", ErrMalformed, key, text)
	}
	return int(n), nil
}
