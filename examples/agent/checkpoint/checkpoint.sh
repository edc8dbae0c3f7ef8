#!/usr/bin/env bash
# Before an event, signals a service's main process to save a checkpoint, and waits
# until the program has written a marker file. Afterwards, starts the service if needed.
# Needs systemctl, and permission to signal and start the service.
set -euo pipefail

service=${SERVICE:?the unit, such as simulation.service}
marker=${MARKER:?the file that the program writes last}
signal=${SIGNAL:-USR1}
stamp=${STAMP:-/var/lib/forewarn-agent/$service.signaled} # has the signal's time

# Real seconds until the agent stops this hook, less a margin of two; default: 10 min.
limit=${FOREWARN_REAL_SECONDS_LEFT:-${FOREWARN_SECONDS_LEFT:-600}}
limit=$((${limit%.*} - 2))

# Equal times count as saved: a fast program can write within the same clock tick.
is_saved() {
    [ -e "$marker" ] && [ ! "$marker" -ot "$stamp" ]
}

# Whether the program was signaled for this event, perhaps by an interrupted run.
is_asked() {
    [ -e "$stamp" ] && [ "$(cat "$stamp")" = "$FOREWARN_EVENT_ID" ]
}

case $FOREWARN_STEP in
    prepare) ;;
    recover)
        if ! is_asked; then
            echo "$service did not run before the event: not starting it"
            exit 0
        fi
        # With Type=notify, this returns when the program has loaded its checkpoint.
        exec systemctl start "$service"
        ;;
    *) exit 0 ;;
esac

if ! is_asked || ! is_saved; then
    process=$(systemctl show --property MainPID --value "$service")
    if [ "${process:-0}" = 0 ]; then
        echo "$service is not running: nothing to save"
        exit 0
    fi
    echo "$FOREWARN_EVENT_ID" >"$stamp"
    kill -s "$signal" "$process"
fi
until is_saved; do
    if ((SECONDS >= limit)); then
        echo "$service did not save in time: $marker is unchanged" >&2
        exit 1
    fi
    sleep "${PAUSE:-0.5}"
done
