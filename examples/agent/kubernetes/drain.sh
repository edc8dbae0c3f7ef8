#!/usr/bin/env bash
# Drains this VM's Kubernetes node before an event, and uncordons it afterwards.
# Needs kubectl, with permission to read, change and drain the node.
#
# For each event, an annotation shows that this hook cordoned the node. When the last
# annotation is removed, the node is uncordoned. A node that someone else cordoned has
# no annotation and stays cordoned.
set -euo pipefail

# The id becomes part of an annotation, so reject other characters.
case $FOREWARN_EVENT_ID in
    '' | *[!A-Za-z0-9_-]*) echo "unsafe EventId: $FOREWARN_EVENT_ID" >&2 && exit 1 ;;
esac

node=${NODE:-$(uname -n | tr '[:upper:]' '[:lower:]')}
mark=forewarn/$(tr '[:upper:]' '[:lower:]' <<<"$FOREWARN_EVENT_ID")
drain_options=(--ignore-daemonsets --delete-emptydir-data)

# Real seconds until the agent stops this hook, less a margin of two; default: 10 min.
limit=${FOREWARN_REAL_SECONDS_LEFT:-${FOREWARN_SECONDS_LEFT:-600}}
limit=$((${limit%.*} - 2))

# Prints "cordoned" if the node is cordoned, and the annotations of this hook.
state() {
    # shellcheck disable=SC2016 # these dollar signs are for the template
    kubectl get node "$node" -o go-template='{{if .spec.unschedulable}}cordoned{{end}}
{{range $name, $_ := .metadata.annotations}}{{$name}}
{{end}}' | grep -E '^(cordoned|forewarn/.*)$' || [ "${PIPESTATUS[0]}" = 0 ]
}

prepare() {
    local now left
    now=$(state)
    if [ "$now" = cordoned ]; then
        echo "$node was cordoned by someone else and stays cordoned"
    else
        kubectl annotate node "$node" --overwrite "$mark=$FOREWARN_EVENT_TYPE"
        kubectl cordon "$node"
    fi
    left=$((limit - SECONDS))
    # At least one second, because 0 means no timeout.
    kubectl drain "$node" "${drain_options[@]}" --timeout="$((left > 0 ? left : 1))s"
}

bring_back() {
    local now
    now=$(state)
    if ! grep -qx "$mark" <<<"$now"; then
        echo "$node was not cordoned for this event"
        return
    fi
    if grep -x 'forewarn/.*' <<<"$now" | grep -qvx "$mark"; then
        echo "$node stays cordoned: another event is pending"
    else
        kubectl uncordon "$node"
    fi
    kubectl annotate node "$node" "$mark-"
}

case $FOREWARN_STEP in
    prepare) prepare ;;
    recover | undo) bring_back ;;
esac
