#!/bin/sh
# Deploys a job, waits until it is well, and returns to what ran before if it is not.
#
#   deploy.sh FILE NAME [further options of weir deploy]
#
# WEIR_API_URL and WEIR_TOKEN say where the platform is and who is calling (an operator's token, made with --rollback: a
# return abandons what the new version has committed). HEALTHY_WITHIN (5m): by then the new version has to run and to have
# completed a checkpoint of its own.
#
# Exit codes: 0 it is deployed and well; 1 it is not, and the job is where it was before, as far as there was a before;
# others are those of weir (docs/cli.md): then nothing was changed.

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

# One member of the JSON object on standard input; nothing if it is null or there is no object.
member() {
    "${PYTHON:-python3}" -c '
import json, sys
text = sys.stdin.read()
value = json.loads(text).get(sys.argv[1]) if text.strip() else None
print("" if value is None else value)
' "$1"
}

# What a person wants to see of a job that is not well. That it cannot be shown changes nothing.
show() {
    weir status "$name" >&2 || true
    weir logs "$name" --lines 50 >&2 || true
}

# 1. Deploy. If this is a new version of a job that runs, it is stopped with a checkpoint, and the new version goes on from it.
#    If that does not come up, the platform itself brings back what ran before.
code=0
deployed=$(weir deploy "$file" --name "$name" --wait --output json "$@") || code=$?
if [ "$code" -eq 1 ]; then
    say "$name did not come up with $file"
    if [ -n "$(printf '%s' "$deployed" | member plan)" ]; then
        # The previous version is on its way back. That it comes is worth waiting for, and worth being told of if not.
        weir wait "$name" --timeout "$within" >&2 || say "and what ran before it is not well either"
    fi
    show
    exit 1
elif [ "$code" -ne 0 ]; then
    exit "$code"
fi

# 2. It runs. It is well once it has completed a checkpoint since: then its sources, its state and its sinks have worked.
if weir wait "$name" --checkpoint --timeout "$within" >&2; then
    say "$name is well with version $(printf '%s' "$deployed" | member spec)"
    exit 0
fi
say "$name is not well with version $(printf '%s' "$deployed" | member spec)"
show

# 3. It is not: return to the version and the checkpoint that it was stopped with. Only if this deployment has stopped it:
#    otherwise there is nothing of ours to take back.
plan=$(printf '%s' "$deployed" | member plan)
before=$(printf '%s' "$deployed" | member spec_before)
if [ -z "$plan" ]; then
    say "nothing ran before it, so there is nothing to return to"
    exit 1
fi
if weir undo "$name" --plan "$plan" --yes --wait >&2 &&
    weir wait "$name" --timeout "$within" >&2 &&
    [ "$(weir status "$name" --output json | member spec_number)" = "$before" ]; then
    say "$name is back at version $before"
else
    say "$name could not be brought back to version $before: it needs a person"
fi
exit 1
