#!/bin/sh
# Deploy a job, wait until it is healthy, and undo the upgrade if it is not.
#
#   deploy.sh FILE NAME [further options of weir deploy]
#
# WEIR_API_URL and WEIR_TOKEN: the platform, and an operator's token created with --rollback (undoing an upgrade abandons
# checkpoints of the new version). HEALTHY_WITHIN (5m): time for the new version to run and to complete a checkpoint.
#
# Exit codes: 0: the version is deployed and healthy. 1: it is not; the job has returned to its previous version, if it had
# one. Others are those of weir (docs/cli.md): nothing was changed.

set -eu

if [ $# -lt 2 ]; then
    echo "usage: $0 FILE NAME [further options of weir deploy]" >&2
    exit 2
fi
file=$1
name=$2
shift 2
within=${HEALTHY_WITHIN:-5m}

say() {
    echo "deploy: $*" >&2
}

# Print a member of the JSON object on standard input; nothing if it is null or there is no object.
member() {
    "${PYTHON:-python3}" -c '
import json, sys
text = sys.stdin.read()
value = json.loads(text).get(sys.argv[1]) if text.strip() else None
print("" if value is None else value)
' "$1"
}

# Print the state, the newest events and the log of an unhealthy job. Errors are ignored. The events contain the reasons of failures:
# a job that is restarting has a new run, whose log is still empty.
show() {
    weir status "$name" >&2 || true
    weir events "$name" --limit 20 >&2 || true
    weir logs "$name" --lines 50 >&2 || true
}

# 1. Deploy. A running job is stopped with a final checkpoint, and the new version restores it. If the new version does not
#    start, the platform returns the job to its previous version.
code=0
deployed=$(weir deploy "$file" --name "$name" --wait --output json "$@") || code=$?
if [ "$code" -eq 1 ]; then
    say "$name did not start with $file"
    if [ -n "$(printf '%s' "$deployed" | member plan)" ]; then
        # The platform is starting the previous version. Wait for it and report if it does not start.
        weir wait "$name" --timeout "$within" >&2 || say "the previous version is not healthy either"
    fi
    show
    exit 1
elif [ "$code" -ne 0 ]; then
    exit "$code"
fi

# 2. The new version runs. A completed checkpoint proves that its sources, its state and its sinks work.
if weir wait "$name" --checkpoint --timeout "$within" >&2; then
    say "$name is healthy with version $(printf '%s' "$deployed" | member spec)"
    exit 0
fi
say "$name is not healthy with version $(printf '%s' "$deployed" | member spec)"
show

# 3. The new version is not healthy: undo the upgrade, which restores the previous version and its final checkpoint. Without an
#    upgrade in this deployment there is nothing to undo.
plan=$(printf '%s' "$deployed" | member plan)
before=$(printf '%s' "$deployed" | member spec_before)
if [ -z "$plan" ]; then
    say "this is the first version: there is no earlier version to return to"
    exit 1
fi
if weir undo "$name" --plan "$plan" --yes --wait >&2 &&
    weir wait "$name" --timeout "$within" >&2 &&
    [ "$(weir status "$name" --output json | member spec_number)" = "$before" ]; then
    say "$name has returned to version $before"
else
    say "$name could not be returned to version $before: it needs attention"
fi
exit 1
