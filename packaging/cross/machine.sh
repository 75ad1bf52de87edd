# What the scripts of this folder and .ci/run share: where things are kept, how a
# missing program comes, how progress is told. Sourced, never run.
# shellcheck shell=bash
set -euo pipefail

tree=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)

# Kept between runs and between checkouts. Deleting it costs time, nothing else.
cache=${A2AD_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/a2ad-build}

# Progress goes to stderr: stdout belongs to what a script answers.
say() { printf '[%5ds] %s\n' "$SECONDS" "$*" >&2; }

fail() {
  say "FAILED: $1"
  shift
  for line in "$@"; do printf '         %s\n' "$line" >&2; done
  exit 1
}

# need COMMAND PACKAGE...: installs the Debian packages unless COMMAND is there.
need() {
  local command=$1
  shift
  command -v "$command" >/dev/null && return
  command -v apt-get >/dev/null || fail "$command is not installed" "Install it; on Debian it is in: $*"
  [ "$(id -u)" = 0 ] || fail "$command is not installed" "As root: apt-get install $*"
  say "installing $* (for $command)"
  # The lists may be absent, or older than what the mirror still holds.
  install_packages "$@" || {
    apt-get -qq update </dev/null >&2
    install_packages "$@"
  } || fail "$* could not be installed" "apt-get said why, above."
  hash -r
  command -v "$command" >/dev/null || fail "$* brought no $command"
}

install_packages() {
  DEBIAN_FRONTEND=noninteractive apt-get -qq -y install --no-install-recommends "$@" </dev/null >/dev/null 2>"$(log_of apt)" \
    || { cat "$(log_of apt)" >&2; return 1; }
}

log_of() {
  mkdir -p "$cache/log"
  echo "$cache/log/$1.log"
}

# Where cargo puts what is built for other targets: beside the ordinary output.
cross_target_dir() { echo "${CARGO_TARGET_DIR:-$tree/target}/cross"; }
