#!/bin/sh
# Acts on libvirt VMs without reports. Exit code 0 means that all VMs are done. After any
# other exit code, a retry starts again with all of them.
set -eu

act() {
    case $FOREWARN_TYPE in
        Freeze)
            virsh suspend "$1"
            sleep "${FOREWARN_DURATION_SECONDS#-}" # unknown (-1): 1 second
            virsh resume "$1"
            ;;
        Reboot) virsh reset "$1" ;;
        Redeploy)
            virsh destroy "$1" || true # it may already be off
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
