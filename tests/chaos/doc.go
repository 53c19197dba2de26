// Package chaos runs a cluster of three servers and three nodes under a load of every kind of job,
// while daemons, stewards, ranks and scruns are killed and stopped, disks fill up, directories are
// lost and cables are cut. It then checks every single submission:
//
//   - scrun ends, within a bound, with the program's exit code, or with another one, a sentence, and a fault
//     that explains it;
//   - each rank has run once, or as often as the job was started again;
//   - an exit code of success comes with the whole output, byte by byte, each line once;
//   - a job whose scrun is killed ends;
//   - no daemon ends by itself, and at the end nothing is left and the daemons need no more than before.
//
// One seed gives one sequence of submissions and faults; their timing is the machine's:
//
//	go test ./tests/chaos                                     # a minute
//	go test ./tests/chaos -v -chaos.for 12m -chaos.seed 7     # as make soak does
package chaos
