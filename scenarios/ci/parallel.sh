#!/usr/bin/env bash
# Runs `vivarium run` in shards with GNU parallel, and merges their reports:
#
#   parallel.sh SHARDS [arguments of `vivarium run`]
#
# such as `parallel.sh 64 lock --seeds 1000000 --keep-going`. The exit code is that of one run over all seeds.
#
# Settings are environment variables:
# VIVARIUM  the program [vivarium]
# REPORTS   the folder for the reports; it must have none yet [reports]
# AT_ONCE   how many shards run at a time [one per core]
# PARALLEL  more options for GNU parallel, such as `--eta`
set -euo pipefail
if ! [[ "${1:-}" =~ ^[1-9][0-9]*$ ]]; then
  echo "usage: parallel.sh SHARDS [arguments of \`vivarium run\`]" >&2
  exit 3
fi
export SHARDS="$1"
shift
export VIVARIUM="${VIVARIUM:-vivarium}" REPORTS="${REPORTS:-reports}"
mkdir -p "$REPORTS"
if compgen -G "$REPORTS/*.json" > /dev/null; then
  # They may be of other arguments, or of another build.
  echo "\`$REPORTS\` has reports already: remove them, or set REPORTS to another folder" >&2
  exit 3
fi

# One shard on one thread. What it wrote is merged, whatever its exit code: the merge gives the verdict.
one() {
  local shard="$1" report="$REPORTS/$1.json"
  shift
  "$VIVARIUM" run "$@" --shard "$shard/$SHARDS" --jobs 1 --json > "$report" || [ -s "$report" ]
}
export -f one

seq "$SHARDS" | parallel --jobs "${AT_ONCE:-100%}" --halt soon,fail=1 --quote one {} "$@" || exit 3
exec "$VIVARIUM" merge --tables "$REPORTS"/*.json
