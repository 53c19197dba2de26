package pm

import "testing"

// TestSpinOnlyWithOwnCPU has ranks spin only where each has a CPU to itself, as the launcher says.
func TestSpinOnlyWithOwnCPU(t *testing.T) {
	for _, c := range []struct {
		ranks, spin string
		want        bool
	}{{"", "", false}, {"1", "", false}, {"2", "", true}, {"2", "5us", false}, {"nonsense", "", false}} {
		t.Run(c.ranks+" "+c.spin, func(t *testing.T) {
			t.Setenv(EnvCPURanks, c.ranks)
			t.Setenv(EnvSpin, c.spin)
			settings, err := SettingsFromEnvironment()
			if err != nil {
				t.Fatal(err)
			}
			if got := settings.spin(1) == 0; got != c.want {
				t.Errorf("crowded: %v", got)
			}
		})
	}
}
