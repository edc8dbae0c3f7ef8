#!/usr/bin/env bash
# Drains this VM's node before an event, and resumes it after it. Jobs may end by
# themselves while there is time; those that have not are requeued.
# Needs scontrol and squeue, as a user who may operate nodes and jobs.
#
# The node's reason names the events that it is drained for: the last one to go resumes
# it. What somebody else has drained has another reason, and stays.
set -euo pipefail

# An id becomes a word of the reason: refuse one with other characters.
case $FOREWARN_EVENT_ID in
    '' | *[!A-Za-z0-9_-]*) echo "unsafe EventId: $FOREWARN_EVENT_ID" >&2 && exit 1 ;;
esac

node=${NODE:-$(uname -n | cut -d. -f1)}
requeue_within=${REQUEUE_WITHIN:-60} # seconds that are kept for requeued jobs to end

# Seconds until the agent ends us, real ones, less two to end in; else ten minutes.
limit=${FOREWARN_REAL_SECONDS_LEFT:-${FOREWARN_SECONDS_LEFT:-600}}
limit=$((${limit%.*} - 2))

left() {
    echo $((limit - SECONDS))
}

is_drained() {
    scontrol show node "$node" --oneliner | grep -Eq ' State=[A-Z+*]*DRAIN'
}

# Why it is drained; without who said so, and when, which stands in brackets behind.
reason() {
    scontrol show node "$node" --oneliner |
        sed -n 's/.* Reason=\(.*\)/\1/p' | sed 's/ \[[^]]*\].*//; s/ *$//'
}

jobs_here() {
    squeue --noheader --nodelist "$node" --states running,suspended,completing \
        --format %A
}

drain() { # events
    scontrol update "nodename=$node" state=drain "reason=forewarn $*"
}

prepare() {
    local why jobs requeued=
    why=$(reason)
    case $why in
        "forewarn "*"$FOREWARN_EVENT_ID"*) drain "${why#forewarn }" ;; # once more
        "forewarn "*) drain "${why#forewarn } $FOREWARN_EVENT_ID" ;;
        *)
            if is_drained; then
                echo "$node was drained by somebody else, and stays so: $why"
            else
                drain "$FOREWARN_EVENT_ID"
            fi
            ;;
    esac
    while :; do
        jobs=$(jobs_here)
        [ -n "$jobs" ] || return 0
        if [ -z "$requeued" ] && (($(left) <= requeue_within)); then
            # One that may not be requeued may still end in time.
            scontrol requeue "${jobs//$'\n'/,}" || true
            requeued=yes
        fi
        if (($(left) <= 0)); then
            echo "still here: ${jobs//$'\n'/ }" >&2
            return 1
        fi
        sleep "${PAUSE:-1}"
    done
}

bring_back() {
    local why rest
    why=$(reason)
    case $why in
        "forewarn "*"$FOREWARN_EVENT_ID"*) ;;
        *) echo "$node was not drained for this event" && return ;;
    esac
    rest=${why#forewarn }
    rest=$(xargs <<<"${rest//$FOREWARN_EVENT_ID/}")
    if [ -n "$rest" ]; then
        echo "$node stays drained: another event is to come"
        drain "$rest"
    else
        scontrol update "nodename=$node" state=resume
    fi
}

case $FOREWARN_STEP in
    prepare) prepare ;;
    recover | undo) bring_back ;;
esac
