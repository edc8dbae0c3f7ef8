#!/bin/sh
# Updates the host of a VM in forewarn: moved.sh web-0 host-b. Needs curl and jq.
set -eu

: "${CONTROL:=http://127.0.0.1:8255}"
: "${TOKEN_FILE:=$HOME/.local/state/forewarn/token}"

request() { # keeps the token out of the command line, which other users can read
    printf 'header = "Authorization: Bearer %s"\n' "$(cat "$TOKEN_FILE")" |
        curl --config - --silent --show-error --fail "$@"
}

vm=$(request "$CONTROL/v1/vms/$1")
changed=$(printf '%s' "$vm" | jq -c --arg host "$2" '.host = $host')
request --request PUT --data "$changed" "$CONTROL/v1/vms/$1"
