#!/usr/bin/env bash
# Install the programs that tests run for real, where they are missing (Debian and its kin).
set -euo pipefail

missing=()
command -v chromium > /dev/null || missing+=(chromium)
command -v promtool > /dev/null || missing+=(prometheus)
command -v prometheus-node-exporter > /dev/null || missing+=(prometheus-node-exporter)
compgen -G "/usr/lib/postgresql/*/bin/initdb" > /dev/null || missing+=(postgresql)
command -v wget > /dev/null || missing+=(wget)
command -v openssl > /dev/null || missing+=(openssl)
[ "${#missing[@]}" -eq 0 ] && exit 0

as_root=()
[ "$(id -u)" -eq 0 ] || as_root=(sudo)
export DEBIAN_FRONTEND=noninteractive
# A package that starts a server of its own would take its usual port from nobody: we use others.
"${as_root[@]}" apt-get update --quiet
"${as_root[@]}" apt-get install --yes --quiet --no-install-recommends "${missing[@]}"
