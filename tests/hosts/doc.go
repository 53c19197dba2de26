// Package hosts tries a cluster as administrators make it: hosts with Debian, systemd and disks of
// their own, on which the package is installed and the lines of docs/installing.md and
// docs/administering.md are typed, word for word. Hosts are rebooted, lose power, their cables and
// the state of the cluster, have daemons that crash and hang, wrong clocks, full and read-only
// disks, come and go, and are upgraded. Where all is well the journals have no error. They are
// guests; see package guest.
package hosts
