// Package config reads the configuration file of the daemons: strict TOML, which is checked as a
// whole before anything is done. An error names the file, the line and the key. config.go has all
// keys with their defaults, check.go their bounds.
//
//	c, err := config.Load("/etc/score/score.toml")
//	if err != nil {
//		return err // score.toml:12: agent.cgroups: it is "auto" or "off", not "yes"
//	}
//
// Settings that change while the cluster runs (slices) are not here: they are part of the
// replicated state, and the file only has their first values.
package config
