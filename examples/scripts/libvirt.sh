#!/bin/sh
# Acts on VMs of libvirt. It is all or nothing: exit code 0 says that the work is done on
# every VM, any other that it is not, and a retry begins again with all of them.
set -eu

act() {
    case $FOREWARN_TYPE in
        Freeze)
            virsh suspend "$1"
            sleep "${FOREWARN_DURATION_SECONDS#-}" # -1, unknown: a second
            virsh resume "$1"
            ;;
        Reboot) virsh reset "$1" ;;
        Redeploy)
            virsh destroy "$1" || true # it may be off already
            virsh start "$1"
            ;;
        Preempt) virsh destroy "$1" ;;
        Terminate)
            virsh destroy "$1" || true
            virsh undefine "$1"
            ;;
    esac
}

echo "$FOREWARN_TYPE, attempt $FOREWARN_ATTEMPT: $FOREWARN_DESCRIPTION"
for vm in $FOREWARN_VMS; do
    act "$vm"
done
