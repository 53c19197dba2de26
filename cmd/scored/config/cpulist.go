package config

import (
	"fmt"
	"score/cmd/cmdline"
	"strings"
)

// maxCPU bounds the numbers of CPUs in a text, so that a slip like "0-9999999999" does not fill the
// memory. Linux has fewer CPUs on any machine.
const maxCPU = 1 << 16

// CPUList is a list of CPUs. Besides a list of numbers, the file may have a text in the kernel's
// notation: "1-3,8".
type CPUList []int

// UnmarshalText implements encoding.TextUnmarshaler. TOML's decoder calls it for anything but a
// list.
func (c *CPUList) UnmarshalText(text []byte) error {
	list := CPUList{}
	for part := range strings.SplitSeq(string(text), ",") {
		first, last, ok := cmdline.ParseRange(strings.TrimSpace(part))
		if !ok || last > maxCPU {
			return fmt.Errorf("%q: write CPUs as in \"1-3,8\" or [1, 2, 3, 8]", part)
		}
		for cpu := first; cpu <= last; cpu++ {
			list = append(list, int(cpu))
		}
	}
	*c = list
	return nil
}
