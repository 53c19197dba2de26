// Package failures lets real clusters fail: daemons, nodes, ranks and scruns die at every
// step of a switch, clocks jump, peers fall silent, while gangs exchange messages. After
// each failure the other gangs go on, the verdicts are right, and nothing is left.
//
// What happens at which step is in the tables of ctxswitch/DESIGN.md,
// channels/node/DESIGN.md and nodeagent/DESIGN.md.
package failures
