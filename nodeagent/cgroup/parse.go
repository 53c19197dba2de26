package cgroup

import (
	"fmt"
	"os"
	"path/filepath"
)

func readFile(dir, name string) (string, error) {
	text, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		return "", fmt.Errorf("reading a group: %w", err)
	}
	return string(text), nil
}

// field returns the value of "key value" at the start of a line of a flat keyed file. The key must
// include the space. field allocates nothing.
func field(text []byte, key string) (value uint64, ok bool) {
	for at := 0; at < len(text); {
		line := text[at:]
		if len(line) >= len(key) && string(line[:len(key)]) == key {
			return number(line[len(key):])
		}
		for at < len(text) && text[at] != '\n' {
			at++
		}
		at++
	}
	return 0, false
}

// number parses the digits at the start; ok is false if there are none or too many.
func number(text []byte) (value uint64, ok bool) {
	for _, c := range text {
		if c < '0' || c > '9' {
			return value, ok
		}
		if value > (1<<64-1-9)/10 {
			return 0, false
		}
		value, ok = value*10+uint64(c-'0'), true
	}
	return value, ok
}
