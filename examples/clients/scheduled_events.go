// Reads scheduled events, prepares for them, approves them, and polls again.
package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"
)

type event struct {
	EventId, EventType, EventStatus, EventSource string
	Resources                                    []string
	DurationInSeconds                            *int
}

const first = 130 * time.Second // the first response can take two minutes

var (
	endpoint  = "http://169.254.169.254"
	pause     = time.Second
	transport = &http.Transport{Proxy: nil} // no proxy, which would hide this VM's address

	approveAll = flag.Bool("approve-all", false,
		"approve every scheduled event, even one for another VM")
)

func getReady(e event) {
	// Put your work here: drain connections, save data.
}

// Approve user-initiated events, and a Freeze of less than 10 seconds.
func mayBeApproved(e event) bool {
	seconds := e.DurationInSeconds
	isShort := seconds != nil && *seconds >= 0 && *seconds < 10
	return e.EventSource == "User" || e.EventType == "Freeze" && isShort
}

// Sends one request, and parses the JSON of the response into found unless it is empty.
func try(path, tag, body string, timeout time.Duration, found any) (int, string, error) {
	method := map[bool]string{true: "GET", false: "POST"}[body == ""]
	request, err := http.NewRequest(method, endpoint+path, strings.NewReader(body))
	if err != nil {
		return 0, tag, err
	}
	request.Header = http.Header{"Metadata": {"true"}, "Content-Type": {"application/json"}}
	if tag != "" {
		request.Header.Set("If-None-Match", tag)
	}
	response, err := (&http.Client{Transport: transport, Timeout: timeout}).Do(request)
	if err != nil {
		return 0, tag, err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode == 200 && found != nil && len(bytes.TrimSpace(text)) > 0 {
		tag, err = response.Header.Get("ETag"), json.Unmarshal(text, found)
	}
	return response.StatusCode, tag, err
}

// Sends a request until it gets a final response. Errors such as 400 are final.
func send(path, tag, body string, timeout time.Duration, found any) (int, string) {
	for ; ; time.Sleep(pause) {
		status, newTag, err := try(path, tag, body, timeout, found)
		if err == nil && status != 404 && status != 410 && status != 429 && status < 500 {
			return status, newTag
		}
		fmt.Fprintln(os.Stderr, path, "returned", status, err)
	}
}

const events = "/metadata/scheduledevents?api-version=2020-07-01"

func approve(id string) {
	body := fmt.Sprintf(`{"StartRequests": [{"EventId": %q}]}`, id)
	if status, _ := send(events, "", body, 10*time.Second, nil); status == 200 {
		fmt.Println(id, "approved")
	} else {
		fmt.Println(id, "not approved:", status)
	}
}

// Prepares for an event for this VM; approves the event if this VM is named first.
func act(e event, me string) {
	if e.EventStatus != "Scheduled" {
		return
	}
	isNamed, isFirst := false, false
	for position, name := range e.Resources {
		if strings.EqualFold(name, me) {
			isNamed, isFirst = true, isFirst || position == 0
		}
	}
	if isNamed {
		getReady(e)
	}
	if *approveAll || isFirst && mayBeApproved(e) {
		approve(e.EventId)
	}
}

// Returns this VM's name; retries if the body is empty.
func myName() string {
	for ; ; time.Sleep(pause) {
		var instance struct{ Compute struct{ Name string } }
		status, _ := send("/metadata/instance?api-version=2021-02-01", "", "", first, &instance)
		if status != 200 {
			fmt.Fprintln(os.Stderr, "the endpoint returned", status)
			os.Exit(1)
		}
		if instance.Compute.Name != "" {
			return instance.Compute.Name
		}
	}
}

func main() {
	flag.Parse()
	if flag.NArg() > 0 {
		flag.Usage()
		os.Exit(2)
	}
	if given := os.Getenv("FOREWARN_ENDPOINT"); given != "" {
		endpoint = given
	}
	if given, err := strconv.ParseFloat(os.Getenv("POLL_SECONDS"), 64); err == nil {
		pause = time.Duration(given * float64(time.Second))
	}
	me := myName()
	seen, tag, timeout := map[string]string{}, "", first
	for ; ; time.Sleep(pause) {
		var document struct{ Events *[]event }
		var status int
		status, tag = send(events, tag, "", timeout, &document)
		if status != 200 && status != 304 {
			fmt.Fprintln(os.Stderr, "the endpoint returned", status)
			os.Exit(1)
		}
		timeout = 10 * time.Second
		if document.Events == nil { // nothing has changed
			continue
		}
		now := map[string]string{}
		for _, e := range *document.Events {
			now[e.EventId] = e.EventStatus
			if seen[e.EventId] != e.EventStatus {
				fmt.Println(e.EventId, e.EventType, e.EventStatus)
				act(e, me)
			}
		}
		for id := range seen {
			if now[id] == "" {
				fmt.Println(id, "gone")
			}
		}
		seen = now
	}
}
