package gang

import "strconv"

// maxMemoryNumber is the largest number that is written before it is rounded to a larger unit: five
// digits still tell the sizes of nodes apart.
const maxMemoryNumber = 99_999

// FormatMemory writes an amount of memory as users write it: "1500M", "8G". An amount that nobody
// would write, such as a share of a node, is rounded down, so that a request for what a sentence
// names fits.
func FormatMemory(bytes int64) string {
	return formatMemory(bytes, func(amount int64) int64 { return amount >> 10 })
}

// FormatMemoryAsked is like FormatMemory, but rounds up, for a request that is refused: a sentence
// shows it larger than the limit that it exceeds, however close they are.
func FormatMemoryAsked(bytes int64) string {
	return formatMemory(bytes, func(amount int64) int64 { return (amount-1)>>10 + 1 })
}

// formatMemory converts an amount to the next larger unit by enlarge.
func formatMemory(bytes int64, enlarge func(int64) int64) string {
	switch {
	case bytes == 0:
		return "0"
	case bytes < 1024:
		return plural(int(bytes), "byte")
	}
	const units = "KMGT"
	amount, unit := enlarge(bytes), 0
	for unit < len(units)-1 && (amount%1024 == 0 || amount > maxMemoryNumber) {
		amount, unit = enlarge(amount), unit+1
	}
	return strconv.FormatInt(amount, 10) + units[unit:unit+1]
}
