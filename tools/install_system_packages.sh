#!/bin/sh
# Install packages of a Debian-like system: as root, or with sudo. Without a terminal sudo must not ask for a password.
#   tools/install_system_packages.sh otf2-tools
fail() {
    echo "cannot install $packages: $1; install by hand and call make again" >&2
    exit 1
}
packages="$*"
command -v apt-get >/dev/null || fail "this system has no apt-get"
if [ "$(id -u)" = 0 ]; then
    as_root=
elif ! command -v sudo >/dev/null; then
    fail "you are not root and there is no sudo"
elif [ -t 0 ]; then
    as_root=sudo
else
    as_root="sudo -n"
fi
log=$(mktemp) || exit 1
trap 'rm -f "$log"' EXIT
export DEBIAN_FRONTEND=noninteractive
install() { $as_root apt-get install -y -qq --no-install-recommends "$@" >"$log" 2>&1; }
echo "installing $packages" >&2
install "$@" || { $as_root apt-get update -qq >"$log" 2>&1 && install "$@"; } || fail "$(tail -n 1 "$log")"
