package dataplane

import "fmt"

// left implements node.Config.Left.
func (p *Plane) left(key uint64, index uint32) {
	if p.options.Left == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, j := range p.jobs {
		if j.handle.Key() == key && int(index) < len(j.nodes) {
			p.options.Left(j.nodes[index])
		}
	}
}

// unseen implements node.Config.Unseen.
func (p *Plane) unseen(key uint64, nodes []uint32) {
	if p.options.Unseen == nil {
		return
	}
	if id, names := p.namesOf(key, nodes); len(names) > 0 {
		p.options.Unseen(id, names)
	}
}

// namesOf returns the number of the job with the key, and the names of some of its nodes.
func (p *Plane) namesOf(key uint64, nodes []uint32) (id uint64, names []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, j := range p.jobs {
		if j.handle.Key() != key {
			continue
		}
		for _, i := range nodes {
			if int(i) < len(j.nodes) {
				names = append(names, j.nodes[i])
			}
		}
		return j.id, names
	}
	return 0, nil
}

// Problems returns a sentence for each present problem with the link's network. unseen makes the
// sentence for nodes that have not appeared there. It does not wait.
func (p *Plane) Problems(unseen func(nodes []string) string) (sentences []string) {
	t := p.node.NameTroubles()
	for _, err := range [...]error{t.Lost, t.Other} {
		if err != nil {
			sentences = append(sentences, err.Error())
		}
	}
	for _, u := range t.Unseen {
		if id, names := p.namesOf(u.Job, u.Nodes); len(names) > 0 {
			sentences = append(sentences, fmt.Sprintf("job %d: %s", id, unseen(names)))
		}
	}
	return sentences
}
