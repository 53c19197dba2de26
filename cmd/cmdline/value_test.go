package cmdline

import (
	"slices"
	"testing"
	"time"
)

func TestParseTime(t *testing.T) {
	const day = 24 * time.Hour
	for text, want := range map[string]time.Duration{
		"0":           0,
		"1":           time.Minute,
		"90":          90 * time.Minute,
		"0:30":        30 * time.Second,
		"10:00":       10 * time.Minute,
		"5:90":        5*time.Minute + 90*time.Second,
		"1:30:00":     90 * time.Minute,
		"00:00:01":    time.Second,
		"1-0":         day,
		"2-12":        2*day + 12*time.Hour,
		"1-1:30":      day + 90*time.Minute,
		"7-23:59:59":  8*day - time.Second,
		"infinite":    0,
		"UNLIMITED":   0,
		"36500-0:0:0": 36500 * day,
	} {
		got, err := ParseTime(text)
		if err != nil || got != want {
			t.Errorf("ParseTime(%q) = %v, %v; want %v", text, got, err, want)
		}
	}
}

func TestParseTimeErrors(t *testing.T) {
	const form = "write it as minutes, minutes:seconds, hours:minutes:seconds, days-hours, days-hours:minutes or days-hours:minutes:seconds"
	for text, want := range map[string]string{
		"":                      form,
		"-5":                    "it must not be negative",
		"-1:00":                 "it must not be negative",
		"1h":                    form,
		"1:2:3:4":               form,
		"1:":                    form,
		"1-":                    form,
		"1--2":                  form,
		"1-2-3":                 form,
		"1.5":                   form,
		"+1":                    form,
		" 1":                    form,
		"99999999999999999999":  "it is too long; omit the option for no limit",
		"9223372036854775807":   "it is too long; omit the option for no limit",
		"40000-0":               "it is too long; omit the option for no limit",
		"36500-0:0:1":           "it is too long; omit the option for no limit",
		"0:9223372036854775807": "it is too long; omit the option for no limit",
	} {
		if got, err := ParseTime(text); err == nil || err.Error() != want {
			t.Errorf("ParseTime(%q) = %v, %v; want the error %q", text, got, err, want)
		}
	}
}

func TestParseSpan(t *testing.T) {
	const day = 24 * time.Hour
	for text, want := range map[string]time.Duration{
		"0": 0, "90m": 90 * time.Minute, "1h30m": 90 * time.Minute, "150ms": 150 * time.Millisecond,
		"7d": 7 * day, "1d12h": 36 * time.Hour, "0d5s": 5 * time.Second, "36500d": 36500 * day,
	} {
		if got, err := ParseSpan(text); err != nil || got != want {
			t.Errorf("ParseSpan(%q) = %v, %v; want %v", text, got, err, want)
		}
	}
	for _, text := range []string{"", "9", "d", "-1d", "-5m", "1.5d", "1d2", "1d-3h", "1d1d", "36501d", "99999999999999999999d", "2000000h"} {
		if got, err := ParseSpan(text); err == nil {
			t.Errorf("ParseSpan(%q) = %v", text, got)
		}
	}
}

func TestParseBytes(t *testing.T) {
	for text, want := range map[string]uint64{
		"1": 1 << 20, "512": 512 << 20, "1K": 1 << 10, "1k": 1 << 10, "3KB": 3 << 10,
		"2M": 2 << 20, "4g": 4 << 30, "1T": 1 << 40, "1tb": 1 << 40, "1048576T": 1 << 60,
	} {
		if got, err := ParseBytes(text); err != nil || got != want {
			t.Errorf("ParseBytes(%q) = %d, %v; want %d", text, got, err, want)
		}
	}
	const (
		form = "write a whole number with K, M, G or T after it (M without one)"
		huge = "no machine has that much memory"
		none = "it must be at least 1K"
	)
	for text, want := range map[string]string{
		"": form, "K": form, "1.5G": form, "1P": form, "1B": form, "1KK": form, "1 G": form, "x": form,
		"0": none, "0G": none, "-1": none, "-4G": none,
		"1048577T": huge, "99999999999999999999": huge, "9223372036854775807": huge,
	} {
		if got, err := ParseBytes(text); err == nil || err.Error() != want {
			t.Errorf("ParseBytes(%q) = %d, %v; want the error %q", text, got, err, want)
		}
	}
}

func TestParseCount(t *testing.T) {
	for text, want := range map[string]uint32{"1": 1, "64": 64, "16777216": 1 << 24, "007": 7} {
		if got, err := ParseCount(text); err != nil || got != want {
			t.Errorf("ParseCount(%q) = %d, %v; want %d", text, got, err, want)
		}
	}
	for text, want := range map[string]string{
		"0": "it must be at least 1", "-1": "it must be at least 1", "": "give a whole number",
		"x": "give a whole number", "1.0": "give a whole number", "2-4": "give a whole number",
		"16777217": "the maximum is 16777216", "99999999999999999999": "the maximum is 16777216",
		"-99999999999999999999": "it must be at least 1",
	} {
		if got, err := ParseCount(text); err == nil || err.Error() != want {
			t.Errorf("ParseCount(%q) = %d, %v; want the error %q", text, got, err, want)
		}
	}
}

func FuzzParsers(f *testing.F) {
	for _, seed := range []string{"1", "1:2:3", "9-23:59:59", "4G", "n[01-10,12]"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if limit, err := ParseTime(text); err == nil && (limit < 0 || limit > maxTime) {
			t.Errorf("ParseTime(%q) = %v", text, limit)
		}
		if size, err := ParseBytes(text); err == nil && (size < 1<<10 || size > maxBytes) {
			t.Errorf("ParseBytes(%q) = %d", text, size)
		}
		if n, err := ParseCount(text); err == nil && (n < 1 || n > maxCount) {
			t.Errorf("ParseCount(%q) = %d", text, n)
		}
		if nodes, err := ParseNodes(text); err == nil && (len(nodes) < 1 || len(nodes) > MaxNodes) {
			t.Errorf("ParseNodes(%q) has %d", text, len(nodes))
		} else if again, err2 := ParseNodes(FormatNodes(nodes)); err == nil && (err2 != nil || !slices.Equal(again, nodes)) {
			t.Errorf("ParseNodes(%q) is %v, written and read again %v, %v", text, nodes, again, err2)
		}
	})
}
