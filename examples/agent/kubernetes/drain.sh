#!/usr/bin/env bash
# Takes this VM's node out of Kubernetes before an event, and brings it back after it.
# Needs kubectl, and the right to read, change and drain the node.
#
# An annotation for each event says that the node is cordoned for it: the last one to go
# uncordons the node. What somebody else has cordoned has no such annotation, and stays.
set -euo pipefail

# An id becomes part of an annotation: refuse one with other characters.
case $FOREWARN_EVENT_ID in
    '' | *[!A-Za-z0-9_-]*) echo "unsafe EventId: $FOREWARN_EVENT_ID" >&2 && exit 1 ;;
esac

node=${NODE:-$(uname -n | tr '[:upper:]' '[:lower:]')}
mark=forewarn/$(tr '[:upper:]' '[:lower:]' <<<"$FOREWARN_EVENT_ID")
drain_options=(--ignore-daemonsets --delete-emptydir-data)

# Seconds until the agent ends us, real ones, less two to end in; else ten minutes.
limit=${FOREWARN_REAL_SECONDS_LEFT:-${FOREWARN_SECONDS_LEFT:-600}}
limit=$((${limit%.*} - 2))

# "cordoned", if it is; and the events for which we did it.
state() {
    # shellcheck disable=SC2016 # the template's own dollars
    kubectl get node "$node" -o go-template='{{if .spec.unschedulable}}cordoned{{end}}
{{range $name, $_ := .metadata.annotations}}{{$name}}
{{end}}' | grep -E '^(cordoned|forewarn/.*)$' || [ "${PIPESTATUS[0]}" = 0 ]
}

prepare() {
    local now left
    now=$(state)
    if [ "$now" = cordoned ]; then
        echo "$node was cordoned by somebody else, and stays so"
    else
        kubectl annotate node "$node" --overwrite "$mark=$FOREWARN_EVENT_TYPE"
        kubectl cordon "$node"
    fi
    left=$((limit - SECONDS))
    # Without a second left it would get 0, which means for ever.
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
        echo "$node stays cordoned: another event is to come"
    else
        kubectl uncordon "$node"
    fi
    kubectl annotate node "$node" "$mark-"
}

case $FOREWARN_STEP in
    prepare) prepare ;;
    recover | undo) bring_back ;;
esac
