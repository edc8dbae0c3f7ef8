#!/bin/sh
# Tells forewarn on which host a VM runs now: moved.sh web-0 host-b. Needs curl and jq.
set -eu

: "${CONTROL:=http://127.0.0.1:8255}"
: "${TOKEN_FILE:=$HOME/.local/state/forewarn/token}"

ask() { # the token is given where no other user sees it
    printf 'header = "Authorization: Bearer %s"\n' "$(cat "$TOKEN_FILE")" |
        curl --config - --silent --show-error --fail "$@"
}

known=$(ask "$CONTROL/v1/vms/$1")
now=$(printf '%s' "$known" | jq -c --arg host "$2" '.host = $host')
ask --request PUT --data "$now" "$CONTROL/v1/vms/$1"
