package config

import (
	"fmt"
	"reflect"
	"unicode/utf8"
)

// difference is a key in which two configurations differ, with its value in the second.
type difference struct {
	section, key string
	value        any
}

// differences returns them in the order of the file.
func differences(was, is Config) (all []difference) {
	before, after := reflect.ValueOf(was), reflect.ValueOf(is)
	for i := range before.NumField() {
		section := before.Type().Field(i)
		for k := range before.Field(i).NumField() {
			value := after.Field(i).Field(k).Interface()
			if !reflect.DeepEqual(before.Field(i).Field(k).Interface(), value) {
				all = append(all, difference{section.Tag.Get("toml"), section.Type.Field(k).Tag.Get("toml"), value})
			}
		}
	}
	return all
}

// Changes returns the keys ("agent.cpus") in which two configurations differ, in the order of
// the file.
func Changes(was, is Config) (keys []string) {
	for _, d := range differences(was, is) {
		keys = append(keys, d.section+"."+d.key)
	}
	return keys
}

// keys returns all sections ("agent") and keys ("agent.cpus"), in the order of the file.
func keys() (all []string) {
	for section := range reflect.TypeFor[Config]().Fields() {
		all = append(all, section.Tag.Get("toml"))
		for key := range section.Type.Fields() {
			all = append(all, section.Tag.Get("toml")+"."+key.Tag.Get("toml"))
		}
	}
	return all
}

// unwritable returns the first key with a value that TOML cannot hold, namely text that is not
// UTF-8; "" if there is none.
func unwritable(c Config) string {
	sections := reflect.ValueOf(c)
	for i := range sections.NumField() {
		section := sections.Type().Field(i)
		for k := range sections.Field(i).NumField() {
			value := sections.Field(i).Field(k)
			if value.Kind() == reflect.String && !utf8.ValidString(value.String()) {
				return fmt.Sprintf("%s.%s %q", section.Tag.Get("toml"), section.Type.Field(k).Tag.Get("toml"), value.String())
			}
		}
	}
	return ""
}
