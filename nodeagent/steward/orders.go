package steward

import (
	"score/nodeagent/steward/life"
)

// applyLife carries out the machine's orders. Doing so can lead to new orders, as when the agent is
// lost.
func (s *steward) applyLife() {
	for {
		orders := s.life.Take()
		if len(orders) == 0 {
			return
		}
		s.todo = append(s.todo[:0], orders...) // Take's slice is the machine's
		for _, order := range s.todo {
			s.applyOrder(order)
		}
	}
}

func (s *steward) applyOrder(order life.Order) {
	switch order.Kind {
	case life.Start:
		s.start()
	case life.Kill:
		s.kill()
	case life.Sweep:
		s.relay.Complete() // if respawns were possible until now
		s.sweep()
	case life.ReportLaunched:
		s.reportLaunched()
	case life.ReportExit:
		s.reportExit(order.Rank)
		s.loseRank(order.Rank)
	case life.Respawn:
		s.respawn(order.Rank, order.Incarnation)
	case life.ReportAbort:
		s.reportAbort(order.Abort)
	case life.ReportDone:
		s.reportDone()
	case life.NoteSilence:
		s.note(s.job.silence())
	case life.Renew:
		s.renew()
	case life.ReportFree:
		s.reportFree()
	case life.Leave:
		s.left = true
	}
}
