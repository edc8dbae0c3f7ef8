package main

import (
	"os/exec"
	"path/filepath"
	"testing"
)

// Rehearse a scenario with the handler; if it fails, show forewarn's verdict.
func rehearse(t *testing.T, scenario string) {
	t.Helper()
	binary := filepath.Join(t.TempDir(), "handler")
	if output, err := exec.Command("go", "build", "-o", binary, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, output)
	}
	command := exec.Command("forewarn", "rehearse", "--quiet", scenario, "--", binary)
	if verdict, err := command.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, verdict)
	}
}

func TestItDrainsBeforeItApproves(t *testing.T) {
	t.Parallel()
	rehearse(t, "../drains-first.toml")
}

func TestItHandlesAUserReboot(t *testing.T) {
	t.Parallel()
	rehearse(t, "user-reboot")
}

func TestItSurvivesAnOutageOfTheService(t *testing.T) {
	t.Parallel()
	rehearse(t, "outage")
}
