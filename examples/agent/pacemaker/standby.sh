#!/usr/bin/env bash
# Puts this VM's Pacemaker node on standby before an event, and back online afterward.
# Needs Pacemaker's crm_attribute and crm_resource, and either pcs or crm.
#
# A file for each event records that this hook put the node on standby. When the last
# file is removed, the node goes back online. A node that someone else put on standby has
# no file and stays on standby.
set -euo pipefail

# The id becomes a file name, so reject other characters.
case $FOREWARN_EVENT_ID in
    '' | *[!A-Za-z0-9_-]*) echo "unsafe EventId: $FOREWARN_EVENT_ID" >&2 && exit 1 ;;
esac

node=${NODE:-$(crm_node -n)}
marks=${MARKS:-/var/lib/forewarn-agent/pacemaker}
mark=$marks/$FOREWARN_EVENT_ID

# Real seconds until the agent stops this hook, less a margin of two; default: 10 min.
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
        echo "$node was put on standby by someone else and stays on standby"
    else
        : >"$mark"
        standby
    fi
    left=$((limit - SECONDS))
    # Wait until the cluster has no more actions to run.
    crm_resource --wait --timeout "$((left > 0 ? left : 1))s"
}

bring_back() {
    if [ ! -e "$mark" ]; then
        echo "$node was not put on standby for this event"
    elif [ "$(compgen -G "$marks/*")" = "$mark" ]; then
        unstandby
        rm "$mark"
    else
        echo "$node stays on standby: another event is pending"
        rm "$mark"
    fi
}

case $FOREWARN_STEP in
    prepare) prepare ;;
    recover | undo) bring_back ;;
esac
