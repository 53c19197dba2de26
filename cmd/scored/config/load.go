package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"regexp"
	"score/cmd/cmdline"
	"strings"
	"sync"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"
	"golang.org/x/sys/unix"
)

// maxFile bounds a configuration file; the example has 3 KB.
const maxFile = 1 << 20

// Load reads and checks a file. An empty path means DefaultPath. If that file is missing, Load
// returns the defaults.
func Load(path string) (Config, error) {
	name := path
	if name == "" {
		name = DefaultPath
	}
	text, err := readBounded(name)
	if path == "" && errors.Is(err, fs.ErrNotExist) {
		return parse(name, nil)
	}
	if err != nil {
		return Config{}, fmt.Errorf("cannot read the configuration: %w", err)
	}
	return parse(name, text)
}

// Unset reports whether a file may be replaced: it does not exist, or it sets no key, like the file
// that packages install. A file that cannot be read or parsed may not be replaced.
func Unset(path string) bool {
	text, err := readBounded(path)
	if err != nil {
		return errors.Is(err, fs.ErrNotExist)
	}
	var sections map[string]any
	if err := toml.Unmarshal(text, &sections); err != nil {
		return false
	}
	for _, section := range sections {
		if keys, ok := section.(map[string]any); !ok || len(keys) > 0 {
			return false
		}
	}
	return true
}

// readBounded does not wait for the writer of a pipe (O_NONBLOCK).
func readBounded(name string) ([]byte, error) {
	file, err := os.OpenFile(name, os.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	switch {
	case info.IsDir():
		return nil, fmt.Errorf("%s is a directory; name a file", name)
	case info.Mode()&fs.ModeNamedPipe != 0:
		return nil, fmt.Errorf("%s is a pipe, and daemons read their configuration more than once; name a file", name)
	}
	text, err := io.ReadAll(io.LimitReader(file, maxFile+1))
	if err == nil && len(text) > maxFile {
		return nil, fmt.Errorf("%s is larger than %d bytes", name, maxFile)
	}
	return text, err
}

// parse reads and checks a file's text. name is the file's name for errors.
func parse(name string, text []byte) (Config, error) {
	config := Default()
	decoder := toml.NewDecoder(bytes.NewReader(text)).DisallowUnknownFields()
	if err := decoder.Decode(&config); err != nil {
		return Config{}, decodeError(name, text, err)
	}
	if failure := config.check(); failure != nil {
		return Config{}, fmt.Errorf("%s%s: %s: %w", name, lineOf(text, failure.key), failure.key, failure.err)
	}
	return config, nil
}

// decodeError returns an error with the place in the file and without Go's types, for text that
// TOML or a field's type does not allow.
func decodeError(name string, text []byte, err error) error {
	if unknown, ok := errors.AsType[*toml.StrictMissingError](err); ok && len(unknown.Errors) > 0 {
		first := unknown.Errors[0]
		line, _ := first.Position()
		key := strings.Join(first.Key(), ".")
		return fmt.Errorf("%s:%d: %s: unknown key%s", name, line, key, cmdline.Hint(key, keys()))
	}
	if failure, ok := errors.AsType[*toml.DecodeError](err); ok {
		line, _ := failure.Position()
		key, message := strings.Join(failure.Key(), "."), strings.TrimPrefix(failure.Error(), "toml: ")
		if typed, advice := slip(text, line, message); advice != "" && (key == "" || advice == setTwice) {
			key, message = typed, advice
		}
		if key != "" {
			key += ": "
		}
		return fmt.Errorf("%s:%d: %s%s", name, line, key, plainWords(message))
	}
	return fmt.Errorf("%s: %w", name, err)
}

// setTwice is what is wrong with a key that the file has set before.
const setTwice = "it is set twice"

// setKey matches a line that sets a key: its name, and the value with what follows it.
var setKey = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^\s*([A-Za-z_]+)\s*=\s*(.*?)\s*$`) })

// slip recognizes frequent slips of the syntax. It returns the key of the line and what to do, or
// "" for others. message is the library's.
func slip(text []byte, line int, message string) (key, advice string) {
	lines := strings.Split(string(text), "\n")
	if line < 1 || line > len(lines) {
		return "", ""
	}
	parts := setKey().FindStringSubmatch(lines[line-1])
	if parts == nil {
		return "", ""
	}
	key = strings.TrimPrefix(sectionAt(lines[:line])+"."+parts[1], ".")
	switch value := parts[2]; {
	case strings.HasSuffix(message, "is already defined"):
		return key, setTwice
	case strings.HasSuffix(message, "strings cannot have new lines"):
		return key, "the text has no closing quote"
	case value == "" || value[0] == '#':
		return key, "it has no value"
	case strings.ContainsAny(value[:1], "\"'[{"):
		return "", ""
	default:
		return key, "write texts in quotes"
	}
}

// sectionAt returns the section of the last of the lines.
func sectionAt(lines []string) string {
	for i := len(lines) - 1; i >= 0; i-- {
		if name, ok := strings.CutPrefix(strings.TrimSpace(lines[i]), "["); ok {
			name, _, _ = strings.Cut(name, "]")
			return strings.TrimSpace(name)
		}
	}
	return ""
}

// wrongType matches the library's error for a value of the wrong type. It is compiled at the first
// such error, not at the start of every process.
var wrongType = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^cannot (?:decode|store) (?:TOML|a toml) (\w+) (?:into|in) .*?(\S+)$`)
})

// typeWords are the types of the configuration's fields in words.
var typeWords = map[string]string{
	"string":   "a text in quotes",
	"bool":     "true or false",
	"int":      "a whole number",
	"[]int":    "a list of whole numbers in brackets",
	"[]string": "a list of texts in brackets",
}

// plainWords replaces the names of Go's types by words for users.
func plainWords(message string) string {
	parts := wrongType().FindStringSubmatch(message)
	if parts == nil || typeWords[parts[2]] == "" {
		return message
	}
	article := "a "
	if strings.ContainsAny(parts[1][:1], "aeiou") {
		article = "an "
	}
	return fmt.Sprintf("it is %s, not %s%s", typeWords[parts[2]], article, parts[1])
}

// lineOf returns the line in which a key ("agent.cgroups") is set, as ":12", or "" if the file does
// not set it.
func lineOf(text []byte, key string) string {
	parser := unstable.Parser{}
	parser.Reset(text)
	table := ""
	for parser.NextExpression() {
		node := parser.Expression()
		path := joinKey(node.Key())
		switch node.Kind {
		case unstable.Table:
			table = path
		case unstable.KeyValue:
			if strings.TrimPrefix(table+"."+path, ".") == key {
				return fmt.Sprintf(":%d", lineAt(&parser, node))
			}
		default:
		}
	}
	return ""
}

func joinKey(parts unstable.Iterator) string {
	var names []string
	for parts.Next() {
		names = append(names, string(parts.Node().Data))
	}
	return strings.Join(names, ".")
}

func lineAt(parser *unstable.Parser, node *unstable.Node) int {
	key := node.Key()
	if !key.Next() {
		return 1
	}
	return parser.Shape(key.Node().Raw).Start.Line
}

// Write writes a configuration as a file that Load reads. It leaves out what has its default, so
// that an earlier version, which refuses keys that it does not know, reads the file, too.
func Write(path string, config Config) error {
	if key := unwritable(config); key != "" {
		return fmt.Errorf("%s would not be UTF-8, as all of a configuration file is", key)
	}
	sections := make(map[string]map[string]any)
	for _, d := range differences(Default(), config) {
		if sections[d.section] == nil {
			sections[d.section] = make(map[string]any)
		}
		sections[d.section][d.key] = d.value
	}
	text, err := toml.Marshal(sections)
	if err != nil {
		return fmt.Errorf("the configuration as TOML: %w", err)
	}
	return os.WriteFile(path, text, 0o600)
}

// Check checks a configuration that was not read from a file.
func Check(c Config) error {
	if failure := c.check(); failure != nil {
		return fmt.Errorf("%s: %w", failure.key, failure.err)
	}
	return nil
}
