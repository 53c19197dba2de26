package config

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/pelletier/go-toml/v2"
)

const exampleHead = `# Configuration of the daemons of score: scored server and scored agent.
# Every key stands here with its default, as a comment. Made from the program by
# 'make generate'.
`

// Example returns the commented example file. It sets no key; every key is commented out with its
// default.
func Example() (string, error) { return Commented(exampleHead, Default()) }

// Commented returns a file with a head, all keys and their meaning. Keys that have their default
// are commented out.
func Commented(head string, c Config) (string, error) {
	var out strings.Builder
	out.WriteString(head)
	sections, defaults := reflect.ValueOf(c), reflect.ValueOf(Default())
	for i := range sections.NumField() {
		field := sections.Type().Field(i)
		fmt.Fprintf(&out, "\n%s[%s]\n", comment(field), field.Tag.Get("toml"))
		if err := writeKeys(&out, sections.Field(i), defaults.Field(i)); err != nil {
			return "", err
		}
	}
	return out.String(), nil
}

func writeKeys(out *strings.Builder, section, defaults reflect.Value) error {
	for i := range section.NumField() {
		field := section.Type().Field(i)
		key := field.Tag.Get("toml")
		line, err := toml.Marshal(map[string]any{key: section.Field(i).Interface()})
		if err != nil {
			return fmt.Errorf("the default of %s: %w", key, err)
		}
		off := "#"
		if !reflect.DeepEqual(section.Field(i).Interface(), defaults.Field(i).Interface()) {
			off = ""
		}
		fmt.Fprintf(out, "\n%s%s%s", comment(field), off, strings.ReplaceAll(string(line), "'", `"`))
	}
	return nil
}

func comment(field reflect.StructField) string {
	return "# " + strings.ReplaceAll(field.Tag.Get("comment"), "\n", "\n# ") + "\n"
}
