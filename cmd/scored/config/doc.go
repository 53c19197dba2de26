// Package config reads the daemons' configuration file. The file is TOML. It is checked as a whole;
// unknown keys are errors. An error names the file, the line and the key. config.go has all keys
// with their meaning and defaults.
//
//	c, err := config.Load("/etc/score/score.toml")
//	if err != nil {
//		return err // score.toml:12: agent.cgroups: it is "auto" or "off", not "yes"
//	}
//
// Settings that change while the cluster runs, such as slices, are part of the replicated state.
// The file only has their first values.
package config
