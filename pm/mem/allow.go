package mem

import (
	"bytes"
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// scopePath is the setting of the security module Yama; there is none in kernels without it.
const scopePath = "/proc/sys/kernel/yama/ptrace_scope"

// Allow lets other processes of the same user copy from and to this one where Yama restricts that
// to descendants (ptrace_scope 1). It changes nothing elsewhere, and returns ErrDenied where no
// process can allow it.
func Allow() error { return allow(scopePath, unix.Prctl) }

type prctl func(option int, arg2, arg3, arg4, arg5 uintptr) error

// Values of ptrace_scope.
const (
	scopeSameUser    = '0'
	scopeDescendants = '1'
)

func allow(path string, call prctl) error {
	text, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("%w: %w", ErrDenied, err)
	}
	text = bytes.TrimSpace(text)
	if len(text) != 1 {
		return fmt.Errorf("%w: %s holds %.16q", ErrDenied, path, text)
	}
	switch text[0] {
	case scopeSameUser:
		return nil
	case scopeDescendants:
		if err := call(unix.PR_SET_PTRACER, unix.PR_SET_PTRACER_ANY, 0, 0, 0); err != nil {
			return fmt.Errorf("%w: PR_SET_PTRACER: %w", ErrDenied, err)
		}
		return nil
	default:
		return fmt.Errorf("%w: ptrace_scope is %.16q", ErrDenied, text)
	}
}
