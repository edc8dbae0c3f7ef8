#!/usr/bin/env bash
# Puts this VM's node on standby before an event, and back online after it.
# Needs crm_attribute and crm_resource of Pacemaker, and either pcs or crm.
#
# A file for each event says that we put it on standby: the last one to go ends that.
# What somebody else has put on standby has no such file, and stays.
set -euo pipefail

# An id becomes a file name: refuse one with other characters.
case $FOREWARN_EVENT_ID in
    '' | *[!A-Za-z0-9_-]*) echo "unsafe EventId: $FOREWARN_EVENT_ID" >&2 && exit 1 ;;
esac

node=${NODE:-$(crm_node -n)}
marks=${MARKS:-/var/lib/forewarn-agent/pacemaker}
mark=$marks/$FOREWARN_EVENT_ID

# Seconds until the agent ends us, real ones, less two to end in; else ten minutes.
limit=${FOREWARN_REAL_SECONDS_LEFT:-${FOREWARN_SECONDS_LEFT:-600}}
limit=$((${limit%.*} - 2))

is_on_standby() {
    local value
    value=$(crm_attribute --node "$node" --lifetime forever --name standby --query \
        --quiet --default off)
    [ "$value" = on ] || [ "$value" = true ]
}

standby() {
    if command -v pcs >/dev/null; then
        pcs node standby "$node"
    else
        crm node standby "$node"
    fi
}

unstandby() {
    if command -v pcs >/dev/null; then
        pcs node unstandby "$node"
    else
        crm node online "$node"
    fi
}

prepare() {
    local left
    mkdir -p "$marks"
    if is_on_standby && ! compgen -G "$marks/*" >/dev/null; then
        echo "$node was put on standby by somebody else, and stays so"
    else
        : >"$mark"
        standby
    fi
    left=$((limit - SECONDS))
    # Until nothing is on its way any more.
    crm_resource --wait --timeout "$((left > 0 ? left : 1))s"
}

bring_back() {
    if [ ! -e "$mark" ]; then
        echo "$node was not put on standby for this event"
    elif [ "$(compgen -G "$marks/*")" = "$mark" ]; then
        unstandby
        rm "$mark"
    else
        echo "$node stays on standby: another event is to come"
        rm "$mark"
    fi
}

case $FOREWARN_STEP in
    prepare) prepare ;;
    recover | undo) bring_back ;;
esac
