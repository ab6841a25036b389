#!/bin/sh
# Apply job manifests, and wait until each job that should run has completed a checkpoint.
#
#   apply.sh PATH [further options of weir apply]
#
# WEIR_API_URL and WEIR_TOKEN: the platform, and the token of an operator. HEALTHY_WITHIN (5m): time for each job to run and to
# complete a checkpoint.
#
# Exit codes: 0: all jobs equal their manifests and are healthy. 1: a job failed; the other jobs equal their manifests. docs/cli.md
# describes the other exit codes, which are those of weir: nothing was changed.

set -eu

if [ $# -lt 1 ]; then
    echo "usage: $0 PATH [further options of weir apply]" >&2
    exit 2
fi
path=$1
shift
within=${HEALTHY_WITHIN:-5m}

# 1. Check all manifests, then apply them. If a manifest is invalid, or if its code does not compile, no job is changed. If an upgraded
#    job does not start, the platform returns the job to its previous version.
code=0
applied=$(weir apply -f "$path" --wait --output json "$@") || code=$?
if [ "$code" -gt 1 ]; then
    exit "$code"
fi

# 2. A completed checkpoint proves that the sources, the state and the sinks of a job work.
running=$(printf '%s' "$applied" | "${PYTHON:-python3}" -c '
import json, sys
for one in json.load(sys.stdin)["jobs"]:
    if one["error"] is None and one["result"]["job"]["desired_state"] == "RUNNING":
        print(one["name"])
')
for name in $running; do
    if weir wait "$name" --checkpoint --timeout "$within" >&2; then
        echo "apply: $name is healthy" >&2
    else
        echo "apply: $name is not healthy" >&2
        weir events "$name" --limit 20 >&2 || true
        code=1
    fi
done
exit "$code"
