#!/usr/bin/env bash
# Drains this VM from load balancers before an event, and puts it back afterward.
# Needs socat, and the runtime API of each HAProxy at level admin.
#
# A file for each event records that this hook drained the server. When the last file is
# removed, the server is put back. A server that someone else took out has no file and
# stays out.
set -euo pipefail

# The id becomes part of a file name, so reject other characters.
case $FOREWARN_EVENT_ID in
    '' | *[!A-Za-z0-9_-]*) echo "unsafe EventId: $FOREWARN_EVENT_ID" >&2 && exit 1 ;;
esac

# Addresses for socat, separated by spaces: UNIX:/run/haproxy/admin.sock TCP:lb-1:9999
read -ra balancers <<<"${BALANCERS:-UNIX:/run/haproxy/admin.sock}"
backend=${BACKEND:-web}
server=${SERVER:-$FOREWARN_NAME}
marks=${MARKS:-/var/lib/forewarn-agent/haproxy}

# Real seconds until the agent stops this hook, less a margin of two; default: 10 min.
limit=${FOREWARN_REAL_SECONDS_LEFT:-${FOREWARN_SECONDS_LEFT:-600}}
limit=$((${limit%.*} - 2))

send() { # balancer, command
    socat -t 5 - "$1" <<<"$2"
}

order() { # balancer, command; HAProxy returns an empty line on success
    local response
    response=$(send "$1" "$2") || return
    [ -z "$response" ] || { echo "$1: $response" >&2 && return 1; }
}

# Bits 1 and 8: an administrator set maintenance or drain.
admin_state() { # balancer
    send "$1" "show servers state $backend" |
        awk -v name="$server" '$4 == name {print $7; found = 1} END {exit !found}' ||
        { echo "$1 has no server $backend/$server" >&2 && return 1; }
}

sessions() { # balancer
    send "$1" 'show stat' |
        awk -F, -v b="$backend" -v s="$server" '$1 == b && $2 == s {print $5}'
}

mark_of() { # balancer, event
    echo "$marks/$2@${1//[^A-Za-z0-9]/-}"
}

events() { # balancer; prints the events for which this hook drained the server
    compgen -G "$(mark_of "$1" '*')" || true
}

take_out() { # balancer
    local state
    state=$(admin_state "$1")
    if [ $((state & 9)) != 0 ] && [ -z "$(events "$1")" ]; then
        echo "$1: $backend/$server was taken out by someone else and stays out"
    else
        : >"$(mark_of "$1" "$FOREWARN_EVENT_ID")"
        order "$1" "set server $backend/$server state drain"
    fi
}

wait_for_sessions() {
    local each count left
    while :; do
        left=0
        for each in "${balancers[@]}"; do
            count=$(sessions "$each")
            left=$((left + count))
        done
        [ "$left" != 0 ] || return 0
        if ((SECONDS >= limit)); then
            echo "sessions left: $left" >&2
            return 1
        fi
        sleep "${PAUSE:-1}"
    done
}

put_back() { # balancer
    local mark
    mark=$(mark_of "$1" "$FOREWARN_EVENT_ID")
    [ -e "$mark" ] || return 0
    if [ "$(events "$1")" = "$mark" ]; then
        order "$1" "set server $backend/$server state ready" || return
    else
        echo "$1: $backend/$server stays out: another event is pending"
    fi
    rm "$mark"
}

case $FOREWARN_STEP in
    prepare)
        mkdir -p "$marks"
        for each in "${balancers[@]}"; do take_out "$each"; done
        wait_for_sessions
        ;;
    recover | undo)
        failed=0
        for each in "${balancers[@]}"; do put_back "$each" || failed=1; done
        exit "$failed"
        ;;
esac
