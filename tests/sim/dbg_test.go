package sim
import ("testing";"fmt")
func TestDbg(t *testing.T){
 var made []*flowContext
 r := Run(*first, Options{Make: func(s Spec) Context { c:=NewFlowContext(s); made=append(made,c.(*flowContext)); return c}})
 fmt.Printf("%+v\n", r)
 for _,c := range made { for i := range c.peers { p:=&c.peers[i]; if p.send.Status().Sent != c.First || p.recv.Status().Echo != c.First {
  fmt.Printf("j%d c%d %d->%d first %d sendcap %d inbox %d/%d pol %+v %+v | %+v prom %d\n", c.Job,c.Channel,c.Rank,i,c.First,c.SendCap,c.held,c.InboxCap,c.Flow.Policy,p.send.Status(), p.recv.Status(), c.promised) }}}
}
