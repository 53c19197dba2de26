package gang

import "strconv"

// maxMemoryNumber is the largest number that FormatMemory writes before it rounds to a larger unit:
// five digits still tell the sizes of nodes apart.
const maxMemoryNumber = 99_999

// FormatMemory writes an amount of memory as users write it: "1500M", "8G". An amount that nobody
// would write, such as a share of a node, is rounded down, so that a request for what a sentence
// names fits.
func FormatMemory(bytes int64) string {
	switch {
	case bytes == 0:
		return "0"
	case bytes < 1024:
		return plural(int(bytes), "byte")
	}
	const units = "KMGT"
	amount, unit := bytes>>10, 0
	for unit < len(units)-1 && (amount%1024 == 0 || amount > maxMemoryNumber) {
		amount, unit = amount>>10, unit+1
	}
	return strconv.FormatInt(amount, 10) + units[unit:unit+1]
}
