#!/bin/sh
# Acts on libvirt VMs on their hosts and reports each result. Needs virsh and jq. It is
# safe to run again: it skips completed steps and finishes incomplete ones.
set -u
export LC_ALL=C # virsh translates states such as "shut off"

: "${URI:=qemu+ssh://root@HOST/system?no_tty=1}" # HOST stands for the VM's host
: "${TARGET:=}"          # destination for Redeploy; if empty, power off and on
: "${MOVED:=echo moved}" # runs for each moved VM, with its name and TARGET
: "${FREEZE:=5}"         # seconds to pause if the duration is unknown
: "${SHUTDOWN:=60}"      # seconds allowed for a clean shutdown

take() { # VM@host
    vm=${1%%@*} host=${1#*@}
}

report() { # status, detail
    jq -cn --arg vm "$vm" --arg status "$1" --arg detail "$2" '{$vm, $status, $detail}'
}

uri_of() { # host
    case $URI in
        *HOST*) echo "${URI%%HOST*}$1${URI#*HOST}" ;;
        *) echo "$URI" ;;
    esac
}

on() { # host, virsh command
    uri=$(uri_of "$1")
    shift
    virsh -q -c "$uri" "$@"
}

state() { # prints "gone" if the host responds but has no such VM
    names=$(on "$host" list --all --name) || return
    if printf '%s\n' "$names" | grep -Fqx -e "$vm"; then
        on "$host" domstate "$vm"
    else
        echo gone
    fi
}

is_off() {
    case $(state) in "shut off" | gone) ;; *) return 1 ;; esac
}

cut_power() {
    is_off || on "$host" destroy "$vm" || is_off
}

shut_down() {
    is_off || on "$host" shutdown "$vm"
    left=$SHUTDOWN
    while [ "$left" -gt 0 ] && ! is_off; do
        left=$((left - 1))
        sleep 1
    done
    cut_power
}

move() { # --live or --offline
    on "$host" migrate "$1" --persistent --undefinesource "$vm" "$(uri_of "$TARGET")" &&
        $MOVED "$vm" "$TARGET"
}

redeploy() { # state
    if [ -n "$TARGET" ] && [ "$TARGET" != "$host" ]; then
        case $1 in
            gone) on "$TARGET" domstate "$vm" && $MOVED "$vm" "$TARGET" ;;
            "shut off") move --offline ;;
            *) move --live ;;
        esac
    elif [ "$1" != "shut off" ] || [ "$FOREWARN_ATTEMPT" -gt 1 ]; then
        trap '' TERM # do not stop between these two
        cut_power && on "$host" start "$vm"
    fi # otherwise it was off before, and stays off
}

delete() { # keeps the disks; --remove-all-storage would delete them
    cut_power || return
    on "$host" undefine "$vm" --nvram --managed-save --snapshots-metadata \
        --checkpoints-metadata || [ "$(state)" = gone ]
}

act() {
    was=$(state) || return
    case "$FOREWARN_TYPE, $was" in
        "Reboot, shut off") ;; # stays off
        "Reboot, "*) on "$host" reset "$vm" ;;
        "Redeploy, "*) redeploy "$was" ;;
        "Preempt, "*) shut_down ;;
        "Terminate, gone") ;;
        "Terminate, "*) delete ;;
    esac
}

freeze() { # all VMs at the same time
    frozen=
    trap thaw_and_leave TERM INT HUP
    for entry in $vms; do
        take "$entry"
        case "$(state), $FOREWARN_ATTEMPT" in
            "shut off, "* | "paused, 1") report "done" "was not running" ;;
            *) frozen="$frozen $entry" && on "$host" suspend "$vm" ;;
        esac
    done
    [ "$FOREWARN_DURATION_SECONDS" -lt 0 ] || FREEZE=$FOREWARN_DURATION_SECONDS
    sleep "$FREEZE" & # in the background, so that the trap runs immediately
    wait $!
    for entry in $frozen; do
        take "$entry"
        if output=$(on "$host" resume "$vm" 2>&1); then
            report "done" "$output"
        else
            report failed "$output"
        fi
    done
}

thaw_and_leave() {
    for entry in $frozen; do
        take "$entry"
        setsid virsh -q -c "$(uri_of "$host")" resume "$vm" & # survives SIGKILL
    done
    wait
    exit 1
}

vms=$(jq -r '.vms[] | "\(.name)@\(.host // "")"') || exit
if [ "$FOREWARN_TYPE" = Freeze ]; then
    freeze
    exit
fi
for entry in $vms; do
    take "$entry"
    if output=$(act 2>&1); then report "done" "$output"; else report failed "$output"; fi
done
