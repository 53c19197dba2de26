package replica

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"score/scored/api/atomicfile"
	"score/scored/replica/guard"
	"score/scored/replica/wal"
	"strconv"
	"strings"

	"go.uber.org/zap"
)

const (
	formatName = "format"
	// freshSuffix is the suffix of a file that is not yet complete.
	freshSuffix = ".new"
	// format is the version of the directory's files. Open refuses unknown formats, and converts
	// older ones. DESIGN.md describes each version.
	format = 4
	// oldestFormat is the oldest one that Open converts.
	oldestFormat = 1
)

// findFormat reads a directory's format, and records the present one in a new directory. It refuses
// directories of other programs and of later versions.
func findFormat(dir string) (found int, err error) {
	path := filepath.Join(dir, formatName)
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		if err := checkEmpty(dir); err != nil {
			return 0, err
		}
		return format, writeFormat(path)
	}
	if err != nil {
		return 0, fmt.Errorf("%w: %w", ErrDirectory, err)
	}
	text := strings.TrimSpace(string(data))
	found, err = strconv.Atoi(text)
	switch {
	case err != nil || found < oldestFormat:
		return 0, fmt.Errorf(
			"%w %q: %s says %.20q, which is not a format; the directory is damaged, or not that of a server",
			ErrDirectory,
			dir,
			formatName,
			text,
		)
	case found > format:
		return 0, fmt.Errorf(
			"%w %q has format %d, and this program reads up to %d: a later version has used it; start that one again",
			ErrDirectory,
			dir,
			found,
			format,
		)
	}
	return found, nil
}

func checkEmpty(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrDirectory, err)
	}
	for _, entry := range entries {
		if name := entry.Name(); name != lockName && name != formatName+freshSuffix && name != "lost+found" {
			return fmt.Errorf("%w %q holds other files (%s); choose one that is empty or does not exist", ErrDirectory, dir, name)
		}
	}
	return nil
}

// upgrade converts a directory to the present format. It can be interrupted at any point and
// repeated: the format is recorded when all else is on disk.
func upgrade(options Options, found int) error {
	if found == format {
		return removeBolt(options.Dir) // a conversion was interrupted behind its end
	}
	err := convertLog(options, found)
	if errors.Is(err, ErrDirectory) {
		return err // it is damaged
	}
	if err != nil {
		return fmt.Errorf(
			"%w %q cannot be brought from format %d to %d; it can still be used by the program that wrote it: %w",
			ErrDirectory,
			options.Dir,
			found,
			format,
			err,
		)
	}
	if err := writeFormat(filepath.Join(options.Dir, formatName)); err != nil {
		return err
	}
	options.Logger.Info("the data directory was converted", zap.Int("from", found), zap.Int("to", format))
	return removeBolt(options.Dir)
}

func writeFormat(path string) error { return writeNumber(path, format) }

func writeNumber(path string, number int) error { return writeAtomically(path, strconv.Itoa(number)) }

// writeAtomically writes all or nothing: a partial format file would make the directory unusable.
func writeAtomically(path, text string) error {
	err := atomicfile.ReplaceBy(path+freshSuffix, path, []byte(text+"\n"), 0o600)
	if err == nil {
		err = wal.SyncDirectory(filepath.Dir(path))
	}
	if err != nil {
		return fmt.Errorf("%w: %w", ErrDirectory, guard.Explain(filepath.Dir(path), "writing the file "+filepath.Base(path), err))
	}
	return nil
}
