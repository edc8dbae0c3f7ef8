#!/usr/bin/env bash
# A typical poller: prints each new status, approves scheduled events, and exits when
# the event is gone. $1: the endpoint. $2: a file with `get URL` and `post URL BODY`.
set -euo pipefail
. "$2"

seen=
approved=
for _ in $(seq 500); do
    document=$(get "$1")
    status=$(sed -n 's/.*"EventStatus":"\([A-Za-z]*\)".*/\1/p' <<<"$document")
    if [ "${status:-none}" != "$seen" ]; then
        seen=${status:-none}
        echo "$seen"
        if [ "$seen" = Scheduled ]; then
            event=$(sed 's/.*"EventId":"\([^"]*\)".*/\1/' <<<"$document")
            post "$1" "{\"StartRequests\": [{\"EventId\": \"$event\"}]}"
            approved=yes
        elif [ "$seen" = none ] && [ -n "$approved" ]; then
            exit 0
        fi
    fi
    sleep 0.02
done
echo 'it did not end' >&2
exit 1
