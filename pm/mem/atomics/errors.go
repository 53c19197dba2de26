package atomics

import "errors"

// Errors of the package; compare with errors.Is.
var (
	// ErrAlign: the address of a number is no multiple of its size.
	ErrAlign = errors.New("atomics: the address is not a multiple of the number's size")
	// ErrLength: the vectors differ in length, or end within an element.
	ErrLength = errors.New("atomics: the vectors differ in length or end within an element")
)
