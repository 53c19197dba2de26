package config

import "reflect"

// Changes are the keys ("agent.cpus") in which two configurations differ, in the order of
// the file.
func Changes(was, is Config) []string {
	var keys []string
	before, after := reflect.ValueOf(was), reflect.ValueOf(is)
	for i := range before.NumField() {
		section := before.Type().Field(i)
		for k := range before.Field(i).NumField() {
			if !reflect.DeepEqual(before.Field(i).Field(k).Interface(), after.Field(i).Field(k).Interface()) {
				keys = append(keys, section.Tag.Get("toml")+"."+section.Type.Field(k).Tag.Get("toml"))
			}
		}
	}
	return keys
}
