#!/bin/bash
# Can this machine install and run the pinned SGLang? Says why not in one line, and exits 1.
set -u
no() { echo "test-sglang: left out: $1"; exit 1; }
python=${PYTHON:-python3}
[ "$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')" = 3.11 ] || no "the pinned SGLang needs Python 3.11"
[ "$(uname -m)" = x86_64 ] || no "the pinned wheels are for x86-64"
free=$(df -Pk . | awk 'NR == 2 { print int($4 / 1048576) }')
[ "$free" -ge 12 ] || no "it needs 12 GB of disk, $free are free"
memory=$(awk '/MemAvailable/ { print int($2 / 1048576) }' /proc/meminfo)
[ "$memory" -ge 10 ] || no "it needs 10 GB of memory, $memory are free"
${VENV:-.venv}/bin/pip download -q --no-deps --disable-pip-version-check -d "$(mktemp -d)" distro ||
    no "the package index cannot be reached"
exit 0
