#!/bin/sh
# Acts on VMs of libvirt, each on its host, and reports on each. Needs virsh and jq.
# It may be run again: what is done already is well, what is half done is finished.
set -u
export LC_ALL=C # virsh says "shut off" in the language of its user

: "${URI:=qemu+ssh://root@HOST/system?no_tty=1}" # HOST: the host of the VM
: "${TARGET:=}"          # the host that Redeploy moves VMs to; empty: off and on
: "${MOVED:=echo moved}" # run for each VM that has moved, with its name and TARGET
: "${FREEZE:=5}"         # seconds, if nobody has said how long
: "${SHUTDOWN:=60}"      # seconds to shut down in, before the power is cut

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

on() { # host, command of virsh
    uri=$(uri_of "$1")
    shift
    virsh -q -c "$uri" "$@"
}

state() { # "gone": its host is there, and does not know it
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
        trap '' TERM # not between the two
        cut_power && on "$host" start "$vm"
    fi # else it was off before, and stays off
}

delete() { # its disks stay; --remove-all-storage would remove them
    cut_power || return
    on "$host" undefine "$vm" --nvram --managed-save --snapshots-metadata \
        --checkpoints-metadata || [ "$(state)" = gone ]
}

act() {
    was=$(state) || return
    case "$FOREWARN_TYPE, $was" in
        "Reboot, shut off") ;; # and stays off
        "Reboot, "*) on "$host" reset "$vm" ;;
        "Redeploy, "*) redeploy "$was" ;;
        "Preempt, "*) shut_down ;;
        "Terminate, gone") ;;
        "Terminate, "*) delete ;;
    esac
}

freeze() { # all VMs together
    frozen=
    trap thaw_and_leave TERM INT HUP
    for each in $vms; do
        take "$each"
        case "$(state), $FOREWARN_ATTEMPT" in
            "shut off, "* | "paused, 1") report "done" "it was not running" ;;
            *) frozen="$frozen $each" && on "$host" suspend "$vm" ;;
        esac
    done
    [ "$FOREWARN_DURATION_SECONDS" -lt 0 ] || FREEZE=$FOREWARN_DURATION_SECONDS
    sleep "$FREEZE" & # so that a trap need not wait for its end
    wait $!
    for each in $frozen; do
        take "$each"
        if said=$(on "$host" resume "$vm" 2>&1); then
            report "done" "$said"
        else
            report failed "$said"
        fi
    done
}

thaw_and_leave() {
    for each in $frozen; do
        take "$each"
        setsid virsh -q -c "$(uri_of "$host")" resume "$vm" & # no KILL reaches it
    done
    wait
    exit 1
}

vms=$(jq -r '.vms[] | "\(.name)@\(.host // "")"') || exit
if [ "$FOREWARN_TYPE" = Freeze ]; then
    freeze
    exit
fi
for each in $vms; do
    take "$each"
    if said=$(act 2>&1); then report "done" "$said"; else report failed "$said"; fi
done
