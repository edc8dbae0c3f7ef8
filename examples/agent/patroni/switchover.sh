#!/usr/bin/env bash
# Makes another member the leader before an event, if this one is.
# Needs patronictl and jq.
set -euo pipefail

config=${PATRONICTL_CONFIG:-/etc/patroni/config.yml}
member=${MEMBER:-$(uname -n)}

# Seconds until the agent ends us, real ones, less two to end in; else ten minutes.
limit=${FOREWARN_REAL_SECONDS_LEFT:-${FOREWARN_SECONDS_LEFT:-600}}
limit=$((${limit%.*} - 2))

left() {
    echo $((limit - SECONDS))
}

ask() { # arguments of patronictl
    local seconds
    seconds=$(left)
    timeout "$((seconds > 0 ? seconds : 1))" patronictl -c "$config" "$@"
}

# The leader's name and cluster; nothing if there is none just now.
leader() {
    ask list --format json | jq -r '
        .[] | select(.State == "running" and (.Role | test("leader$"; "i")))
        | "\(.Member) \(.Cluster)"'
}

case $FOREWARN_STEP in
    prepare) ;;
    *) exit 0 ;;
esac

read -r leader cluster <<<"$(leader)" || true
if [ "$leader" = "$member" ]; then
    ask switchover "$cluster" --leader "$member" --force
fi
while :; do # somebody else must be the leader, and say so
    now=$(leader)
    [ -z "$now" ] || [ "${now%% *}" = "$member" ] || exit 0
    if (($(left) <= 0)); then
        echo "the leader is still ${now:-nobody}" >&2
        exit 1
    fi
    sleep "${PAUSE:-1}"
done
