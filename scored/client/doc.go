// Package client reaches the scored daemon of this host, a server or where there
// is none an agent, and puts its errors into sentences for people.
//
// It is for the programs users type (scrun, scored job ...). It is not for
// agents, which talk to servers over TCP, and it starts no daemon: if there
// is none it returns [ErrNoCluster], and the caller decides.
//
//	c, err := client.Dial(ctx, client.Choice{})
//	if errors.Is(err, client.ErrNoCluster) { ... run an embedded one ... }
//	defer c.Close()
//	reply, err := c.Jobs.ListJobs(ctx, connect.NewRequest(&scorev1.ListJobsRequest{}))
//	if err != nil { fmt.Fprintln(os.Stderr, client.Sentence(err)) }
//
// The daemon learns who asks from the kernel (SO_PEERCRED), so nothing here
// carries a name or a password.
package client
