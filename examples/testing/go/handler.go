// The handler drains before a reboot, approves the event, and goes back to work.
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"time"
)

type event struct {
	EventId, EventStatus string
	Resources            []string
}

var client = &http.Client{Timeout: 130 * time.Second} // the first response can be slow

// Send a request to the metadata endpoint; decode the response into result, if given.
func send(method, path string, body any, result any) error {
	content, err := json.Marshal(body)
	if err != nil {
		return err
	}
	endpoint := os.Getenv("FOREWARN_ENDPOINT")
	if endpoint == "" {
		endpoint = "http://169.254.169.254"
	}
	request, err := http.NewRequest(method, endpoint+path, bytes.NewReader(content))
	if err != nil {
		return err
	}
	request.Header.Set("Metadata", "true")
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s %s: %s", method, path, response.Status)
	}
	if result == nil {
		return nil
	}
	return json.NewDecoder(response.Body).Decode(result)
}

const events = "/metadata/scheduledevents?api-version=2020-07-01"

func drain() {
	time.Sleep(100 * time.Millisecond) // in production, this takes longer
	fmt.Println("drained")
}

func approve(one event) error {
	type request struct{ EventId string }
	body := map[string][]request{"StartRequests": {{one.EventId}}}
	return send("POST", events, body, nil)
}

// Handle the events of this VM that are in the document.
func handle(vm string) error {
	var document struct{ Events []event }
	if err := send("GET", events, nil, &document); err != nil {
		return err
	}
	for _, one := range document.Events {
		if one.EventStatus != "Scheduled" || !contains(one.Resources, vm) {
			continue
		}
		drain()
		if err := approve(one); err != nil {
			return err
		}
	}
	return nil
}

func contains(names []string, name string) bool {
	for _, one := range names {
		if one == name {
			return true
		}
	}
	return false
}

func main() {
	var instance struct{ Compute struct{ Name string } }
	for {
		err := send("GET", "/metadata/instance?api-version=2021-02-01", nil, &instance)
		if err == nil {
			err = handle(instance.Compute.Name)
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
		time.Sleep(time.Second / 2) // Azure allows each VM five requests per second
	}
}
