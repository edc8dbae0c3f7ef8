#!/usr/bin/env bash
# Lets a program save what it has: sends a signal to a service's main process, and waits
# until the program has written a file that says it has.
# Needs systemctl, and the right to send signals to the service.
set -euo pipefail

service=${SERVICE:?the unit, as simulation.service}
marker=${MARKER:?the file that the program writes, last of all}
signal=${SIGNAL:-USR1}
stamp=${STAMP:-/var/lib/forewarn-agent/$service.signaled} # as old as the signal

# Seconds until the agent ends us, real ones, less two to end in; else ten minutes.
limit=${FOREWARN_REAL_SECONDS_LEFT:-${FOREWARN_SECONDS_LEFT:-600}}
limit=$((${limit%.*} - 2))

# Not older is enough: a quick program writes in the same tick of the clock.
is_saved() {
    [ -e "$marker" ] && [ ! "$marker" -ot "$stamp" ]
}

# Whether it has got the signal already: then the agent has died since, and we with it.
is_asked() {
    [ -e "$stamp" ] && [ "$(cat "$stamp")" = "$FOREWARN_EVENT_ID" ]
}

[ "$FOREWARN_STEP" = prepare ] || exit 0

if ! is_asked || ! is_saved; then
    process=$(systemctl show --property MainPID --value "$service")
    if [ "${process:-0}" = 0 ]; then
        echo "$service does not run: there is nothing to save"
        exit 0
    fi
    echo "$FOREWARN_EVENT_ID" >"$stamp"
    kill -s "$signal" "$process"
fi
until is_saved; do
    if ((SECONDS >= limit)); then
        echo "$marker is as old as it was" >&2
        exit 1
    fi
    sleep "${PAUSE:-0.5}"
done
