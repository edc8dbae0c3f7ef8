// Reads the document, gets ready, approves what may be approved; and again.
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

const first = 130 * time.Second // the very first answer may take two minutes

var (
	endpoint  = "http://169.254.169.254"
	pause     = time.Second
	transport = &http.Transport{Proxy: nil} // a proxy would ask for itself

	approveAll = flag.Bool("approve-all", false,
		"approve every scheduled event, even one of another VM")
)

func getReady(e event) {
	// Do here what must be done before the event starts: drain, save, hand over.
}

// Says yes to what our own people asked for, and to a short pause.
func mayBeApproved(e event) bool {
	seconds := e.DurationInSeconds
	isShort := seconds != nil && *seconds >= 0 && *seconds < 10
	return e.EventSource == "User" || e.EventType == "Freeze" && isShort
}

// Asks once; an answer's JSON goes into found, unless the body is empty: that happens.
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
	answer, err := (&http.Client{Transport: transport, Timeout: timeout}).Do(request)
	if err != nil {
		return 0, tag, err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err == nil && answer.StatusCode == 200 && found != nil && len(bytes.TrimSpace(text)) > 0 {
		tag, err = answer.Header.Get("ETag"), json.Unmarshal(text, found)
	}
	return answer.StatusCode, tag, err
}

// Asks until there is an answer. 400 says that the question is wrong: it is one.
func ask(path, tag, body string, timeout time.Duration, found any) (int, string) {
	for ; ; time.Sleep(pause) {
		status, newTag, err := try(path, tag, body, timeout, found)
		if err == nil && status != 404 && status != 410 && status != 429 && status < 500 {
			return status, newTag
		}
		fmt.Fprintln(os.Stderr, path, "answers", status, err)
	}
}

const events = "/metadata/scheduledevents?api-version=2020-07-01"

func approve(id string) {
	body := fmt.Sprintf(`{"StartRequests": [{"EventId": %q}]}`, id)
	if status, _ := ask(events, "", body, 10*time.Second, nil); status == 200 {
		fmt.Println(id, "approved")
	} else {
		fmt.Println(id, "not approved:", status)
	}
}

// Gets ready for an event of this VM, and approves it if this VM is named first.
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

// Asks who this VM is; an empty body happens here, too.
func myName() string {
	for ; ; time.Sleep(pause) {
		var instance struct{ Compute struct{ Name string } }
		status, _ := ask("/metadata/instance?api-version=2021-02-01", "", "", first, &instance)
		if status != 200 {
			fmt.Fprintln(os.Stderr, "the endpoint answers", status)
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
		status, tag = ask(events, tag, "", timeout, &document)
		if status != 200 && status != 304 {
			fmt.Fprintln(os.Stderr, "the endpoint answers", status)
			os.Exit(1)
		}
		timeout = 10 * time.Second
		if document.Events == nil { // nothing is new
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
