#!/usr/bin/env bash
# Drains this VM's Slurm node before an event, and resumes it afterwards. Jobs may
# finish while there is time; the remaining jobs are requeued.
# Needs scontrol and squeue, and a user that can update nodes and requeue jobs.
#
# The drain reason lists the events for which this hook drained the node. When the last
# event is removed, the node is resumed. A node that someone else drained has another
# reason and stays drained.
set -euo pipefail

# The id becomes part of the reason, so reject other characters.
case $FOREWARN_EVENT_ID in
    '' | *[!A-Za-z0-9_-]*) echo "unsafe EventId: $FOREWARN_EVENT_ID" >&2 && exit 1 ;;
esac

node=${NODE:-$(uname -n | cut -d. -f1)}
requeue_within=${REQUEUE_WITHIN:-60} # requeue jobs when this many seconds are left

# Real seconds until the agent stops this hook, less a margin of two; default: 10 min.
limit=${FOREWARN_REAL_SECONDS_LEFT:-${FOREWARN_SECONDS_LEFT:-600}}
limit=$((${limit%.*} - 2))

left() {
    echo $((limit - SECONDS))
}

is_drained() {
    scontrol show node "$node" --oneliner | grep -Eq ' State=[A-Z+*]*DRAIN'
}

# Prints the drain reason, without the user and time that follow it in brackets.
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
        "forewarn "*"$FOREWARN_EVENT_ID"*) drain "${why#forewarn }" ;; # a repeated run
        "forewarn "*) drain "${why#forewarn } $FOREWARN_EVENT_ID" ;;
        *)
            if is_drained; then
                echo "$node was drained by someone else and stays drained: $why"
            else
                drain "$FOREWARN_EVENT_ID"
            fi
            ;;
    esac
    while :; do
        jobs=$(jobs_here)
        [ -n "$jobs" ] || return 0
        if [ -z "$requeued" ] && (($(left) <= requeue_within)); then
            # A job that cannot be requeued may still end in time.
            scontrol requeue "${jobs//$'\n'/,}" || true
            requeued=yes
        fi
        if (($(left) <= 0)); then
            echo "jobs left: ${jobs//$'\n'/ }" >&2
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
        echo "$node stays drained: another event is pending"
        drain "$rest"
    else
        scontrol update "nodename=$node" state=resume
    fi
}

case $FOREWARN_STEP in
    prepare) prepare ;;
    recover | undo) bring_back ;;
esac
