#!/usr/bin/env bash
# Driver script of a trial: fails 1 time in 20, and logs each run to $TRIAL_LOG.
# A lock for each VM shows whether another script works on it. The system releases it
# when the script ends, however it ends.
read -r begun _ </proc/uptime
shared=
for vm in $FOREWARN_VMS; do
    exec {lock}>"$TRIAL_LOCKS/$vm"
    flock --nonblock "$lock" || shared="$shared $vm"
done
echo "$FOREWARN_MAINTENANCE;$FOREWARN_ATTEMPT;$begun;$FOREWARN_VMS;$shared" >>"$TRIAL_LOG"
# 16#: the first digits of the id; the next attempt succeeds.
((16#${FOREWARN_MAINTENANCE:0:6} % 20 + 1 == FOREWARN_ATTEMPT)) && exit 1
read -r -t "0.0$((RANDOM % 10))" <>"$TRIAL_LOCKS/pause"  # a child would keep the locks
exit 0
