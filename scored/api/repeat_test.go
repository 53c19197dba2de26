package api

import (
	"fmt"
	"score/scored/api/scorev1"
	"testing"
)

// Of every call of users it is said whether it may be made again.
func TestEveryCallIsRepeatableOrNot(t *testing.T) {
	services := scorev1.File_score_v1_user_proto().Services()
	count := 0
	for i := range services.Len() {
		methods := services.Get(i).Methods()
		for k := range methods.Len() {
			method := methods.Get(k)
			procedure := fmt.Sprintf("/%s/%s", method.Parent().FullName(), method.Name())
			if method.IsStreamingClient() || method.IsStreamingServer() {
				if Repeatable(procedure) {
					t.Errorf("%s is a stream", procedure)
				}
				continue
			}
			count++
			if Repeatable(procedure) == (once[procedure] != "") {
				t.Errorf("%s: say in repeat.go whether it may be made again", procedure)
			}
		}
	}
	if count != len(repeatable)+len(once) {
		t.Errorf("%d calls, %d in the tables", count, len(repeatable)+len(once))
	}
}
