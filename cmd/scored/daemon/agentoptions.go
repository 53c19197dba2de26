package daemon

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"score/channels/link"
	"score/cmd/cmdline"
	"score/cmd/scored/config"
	"score/nodeagent"
	"score/nodeagent/steward/client"
	"score/scored/api"
	"score/scored/api/identity/pki"
	"time"

	"go.uber.org/zap"
)

func agentOptions(ctx context.Context, c config.Config, logger *zap.Logger) (nodeagent.Options, error) {
	a := c.Agent
	key, err := agentKey(c.Cluster)
	if err != nil {
		return nodeagent.Options{}, err
	}
	name, err := agentName(c)
	if err != nil {
		return nodeagent.Options{}, err
	}
	own, certificates, err := credentials(c.Cluster, pki.Agent, name)
	if err != nil {
		return nodeagent.Options{}, err
	}
	v, err := agentValuesOf(a)
	if err != nil {
		return nodeagent.Options{}, err
	}
	stage := ""
	if a.StageDir != "" {
		stage = filepath.Join(a.StageDir, name)
	}
	// The agent makes its own directory there.
	if err := os.MkdirAll(a.RunDir, 0o755); err != nil {
		return nodeagent.Options{}, fmt.Errorf("cannot make run_dir: %w", err)
	}
	return nodeagent.Options{
		Name:           name,
		Cluster:        c.Cluster.Name,
		Version:        api.Version(),
		RunDir:         filepath.Join(a.RunDir, name),
		Servers:        serverURLs(serverAddresses(c, certificates)),
		ClusterKey:     key,
		Credentials:    own,
		CertificateDir: certificates,
		Listen:         withAddress(ctx, a.Listen),
		UserSocket:     a.UserSocket(),
		CPUs:           a.CPUs,
		MemoryBytes:    v.memory,
		Channels:       a.Channels,
		Link:           v.transport,
		TIPCType:       a.TIPCType,
		SharesCPUs:     a.SharesCPUs,
		KeepToCPUs:     a.KeepToCPUs,
		StewardExe:     client.Self,
		StageDir:       stage,
		JobsDir:        jobsDir(a, name),
		StageLimit:     int64(min(v.stageLimit, math.MaxInt64)),
		WarmStewards:   a.WarmStewards,
		Grace:          v.grace,
		NoCgroups:      a.Cgroups == config.CgroupsOff,
		PrivateShm:     a.PrivateShm,
		PrivateIPC:     a.PrivateIPC,
		EnableRealtime: a.Realtime,
		MetricsAddress: a.MetricsListen,
		Logger:         logger,
	}, nil
}

// agentValues are values that are texts in the configuration.
type agentValues struct {
	grace              time.Duration
	memory, stageLimit uint64
	transport          link.Transport
}

func agentValuesOf(a config.Agent) (v agentValues, err error) {
	if v.grace, err = time.ParseDuration(a.Grace); err != nil {
		return v, err
	}
	if a.Memory != "" {
		if v.memory, err = cmdline.ParseBytes(a.Memory); err != nil {
			return v, err
		}
	}
	if v.transport, err = link.ParseTransport(a.Link); err != nil {
		return v, err
	}
	v.stageLimit, err = cmdline.ParseBytes(a.StageLimit)
	return v, err
}

// jobsMark separates a node's name, which has no dot, from a hash.
const jobsMark = ".jobs-"

// jobsDir returns the directory below which the jobs of a node have theirs. For agents of root it
// is beside the files of stage_dir, on a disk: run_dir is usually in memory that belongs to the
// system, and users could fill it. The hash of its run directory distinguishes agents that share a
// stage_dir. "" means beside the run directory, where users of an agent that is not root's fill
// only their own space.
func jobsDir(a config.Agent, name string) string {
	if os.Geteuid() != 0 || a.StageDir == "" {
		return ""
	}
	const hashBytes = 6 // enough to tell the agents of a machine apart
	sum := sha256.Sum256([]byte(filepath.Join(a.RunDir, name)))
	return filepath.Join(a.StageDir, name+jobsMark+hex.EncodeToString(sum[:hashBytes]))
}

// agentKey returns the cluster's key. An agent with a certificate may have none.
func agentKey(c config.Cluster) (string, error) {
	if _, err := os.Lstat(c.KeyFile); c.Certificates != "" && errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	return loadKey(c.KeyFile)
}

func serverURLs(addresses []string) []string {
	urls := make([]string, 0, len(addresses))
	for _, address := range addresses {
		urls = append(urls, "https://"+address)
	}
	return urls
}
