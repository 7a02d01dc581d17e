#!/bin/bash
# Trains on machines that are reached by ssh, on which this folder is at the same place.
#   ./ssh-train.sh my.yaml node-a:2222 node-b:2222
# Ctrl-C closes the connections, which stops all of them with a checkpoint.
config=$1
shift
workers=$(IFS=,; echo "$*")
index=0
for address in "$@"; do
  ssh -tt "${address%:*}" "cd '$PWD' && nmt train '$config' --workers '$workers' --worker-index $index" < /dev/null &
  index=$((index + 1))
done
status=0
for job in $(jobs -p); do wait "$job" || status=$?; done
exit "$status"
