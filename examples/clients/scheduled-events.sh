#!/usr/bin/env bash
# Reads scheduled events, prepares for them, approves them, and polls again.
# Needs curl and jq.
set -euo pipefail

endpoint=${FOREWARN_ENDPOINT:-http://169.254.169.254}
events="$endpoint/metadata/scheduledevents?api-version=2020-07-01"
instance="$endpoint/metadata/instance?api-version=2021-02-01"
pause=${POLL_SECONDS:-1}
first=130 # seconds; the first response can take two minutes

approve_all=false # --approve-all: approve every event, even one for another VM
for argument; do
    case $argument in
        --approve-all) approve_all=true ;;
        *) echo "usage: ${0##*/} [--approve-all]" >&2 && exit 2 ;;
    esac
done

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
trap 'exit 143' TERM

get_ready() { # event as JSON
    : # Put your work here: drain connections, save data.
}

# Approve user-initiated events, and a Freeze of less than 10 seconds.
may_be_approved='
    .EventSource == "User" or
    (.EventType == "Freeze" and (.DurationInSeconds // -1 | . >= 0 and . < 10))'
names_me='any(.Resources[]?; ascii_downcase == $me)'
names_me_first='(.Resources[0] // "") | ascii_downcase == $me'

# Sends a request until it gets a final response, and sets $status and $folder/body.
# Errors such as 400 are final, because a retry cannot help.
request() { # timeout, URL, other curl options
    local timeout=$1 url=$2
    shift 2
    while :; do
        # No proxy, because the service must see this VM's address.
        status=$(curl --silent --noproxy '*' --connect-timeout 5 --max-time "$timeout" \
            --header Metadata:true --header Content-Type:application/json \
            --output "$folder/body" --dump-header "$folder/head" \
            --write-out '%{http_code}' "$@" "$url") || status=000
        case $status in
            200) [ ! -s "$folder/body" ] || jq . "$folder/body" >/dev/null 2>&1 && return ;;
            000 | 404 | 410 | 429 | 5??) ;;
            *) return ;;
        esac
        echo "$url returned $status" >&2
        sleep "$pause" &
        wait $! # SIGTERM interrupts this wait
    done
}

approve() { # id
    jq -n --arg id "$1" '{StartRequests: [{EventId: $id}]}' >"$folder/approval"
    request 10 "$events" --data "@$folder/approval"
    if [ "$status" = 200 ]; then
        echo "$1 approved"
    else
        echo "$1 not approved: $status"
    fi
}

is() { # jq condition, event as JSON
    jq -e --arg me "$me" "$1" <<<"$2" >/dev/null
}

# Prepares for an event for this VM; approves the event if this VM is named first.
act() { # event as JSON
    is '.EventStatus == "Scheduled"' "$1" || return 0
    if is "$names_me" "$1"; then
        get_ready "$1"
    fi
    if $approve_all || is "($names_me_first) and ($may_be_approved)" "$1"; then
        approve "$(jq -r .EventId <<<"$1")"
    fi
}

me=''
while :; do
    request "$first" "$instance"
    [ "$status" = 200 ] || exit 1
    me=$(jq -r '.compute.name | ascii_downcase' "$folder/body")
    [ -z "$me" ] || break # retry if the body is empty
    sleep "$pause" &
    wait $!
done
seen='{}' tag='' timeout=$first
while :; do
    : >"$folder/body"
    request "$timeout" "$events" ${tag:+--header "If-None-Match: $tag"}
    timeout=10
    [ "$status" = 200 ] || [ "$status" = 304 ] || exit 1
    if [ -s "$folder/body" ]; then # empty if nothing has changed
        tag=$(sed -n 's/^etag: *\([^\r]*\).*/\1/Ip' "$folder/head")
        now=$(jq -c '[.Events[]? | {(.EventId): .EventStatus}] | add // {}' \
            "$folder/body")
        jq -nr --argjson seen "$seen" --argjson now "$now" \
            '($seen | keys) - ($now | keys) | .[] | "\(.) gone"'
        jq -c --argjson seen "$seen" \
            '.Events[]? | select($seen[.EventId] != .EventStatus)' \
            "$folder/body" >"$folder/new"
        seen=$now
        while IFS= read -r event <&3; do
            jq -r '"\(.EventId) \(.EventType) \(.EventStatus)"' <<<"$event"
            act "$event"
        done 3<"$folder/new"
    fi
    sleep "$pause" &
    wait $!
done
