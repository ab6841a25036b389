#!/bin/sh
# Write stored.tar.gz with an older version of Weir: write.sh CHECKOUT
#
# CHECKOUT: a checkout of that version, after make setup. Each run of the job is killed.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
bin=$1/.venv/bin
root=/tmp/weir-stored
unset PYTHONPATH

# run_and_kill ENTRIES OPTION...: run the job until its log has ENTRIES further entries, and kill its driver.
run_and_kill() {
    until=$(($(newest_entry) + $1))
    shift
    "$bin/weir" run "$here/job.py" --set root=$root --checkpoint-dir $root/checkpoints --interval 100ms --quiet "$@" &
    driver=$!
    while [ "$(newest_entry)" -lt "$until" ]; do
        kill -0 $driver
        sleep 0.05
    done
    kill -KILL $driver
    wait $driver || true
    sleep 10 # Spark's processes and the slots notice it and exit
}

newest_entry() {
    newest=$(ls $root/checkpoints/upgraded/log 2>/dev/null | grep -E '^[0-9]+\.json$' | tail -n 1)
    newest=${newest%.json}
    echo "${newest:-0}" | sed 's/^0*\(.\)/\1/'
}

rm -rf $root
"$bin/python" "$here/job.py" $root
run_and_kill 140 --set rate=2
run_and_kill 6 --set rate=60 --resume
run_and_kill 6 --set rate=60 --from "$("$bin/weir" checkpoints $root/checkpoints --json | "$bin/python" -c '
import json, sys
print([one["checkpoint"] for one in json.load(sys.stdin) if one["status"] == "restorable"][-2])')" --yes
"$bin/weir" checkpoints $root/checkpoints
tar --sort=name --owner=0 --group=0 --numeric-owner -C "$(dirname $root)" -czf "$here/stored.tar.gz" "$(basename $root)"
ls -l "$here/stored.tar.gz"
