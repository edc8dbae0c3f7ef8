#!/usr/bin/env bash
# Before an event, makes another member the leader if this one is the leader.
# Needs patronictl and jq.
set -euo pipefail

config=${PATRONICTL_CONFIG:-/etc/patroni/config.yml}
member=${MEMBER:-$(uname -n)}

# Real seconds until the agent stops this hook, less a margin of two; default: 10 min.
limit=${FOREWARN_REAL_SECONDS_LEFT:-${FOREWARN_SECONDS_LEFT:-600}}
limit=$((${limit%.*} - 2))

left() {
    echo $((limit - SECONDS))
}

patroni() { # arguments of patronictl
    local seconds
    seconds=$(left)
    timeout "$((seconds > 0 ? seconds : 1))" patronictl -c "$config" "$@"
}

# The leader's name and cluster; nothing if there is no running leader.
leader() {
    patroni list --format json | jq -r '
        .[] | select(.State == "running" and (.Role | test("leader$"; "i")))
        | "\(.Member) \(.Cluster)"'
}

case $FOREWARN_STEP in
    prepare) ;;
    *) exit 0 ;;
esac

read -r leader cluster <<<"$(leader)" || true
if [ "$leader" = "$member" ]; then
    patroni switchover "$cluster" --leader "$member" --force
fi
while :; do # wait until another member is the running leader
    now=$(leader)
    [ -z "$now" ] || [ "${now%% *}" = "$member" ] || exit 0
    if (($(left) <= 0)); then
        echo "the leader is still ${now:-unknown}" >&2
        exit 1
    fi
    sleep "${PAUSE:-1}"
done
