# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
# Helpers that the scripts under tools/ share. Source it: . "$root/tools/lib.sh"

# A step, so that whoever watches knows what is going on.
say()
{
    printf '%s: %s\n' "${0##*/}" "$*"
}

die()
{
    printf '%s: %s\n' "${0##*/}" "$*" >&2
    exit 1
}

need_root()
{
    [ "$(id -u)" -eq 0 ] || die "must run as root ($1)"
}

# Packages of the list FILE that are not installed yet, one a line.
missing_packages()
{
    local package
    while read -r package; do
        dpkg-query -W -f '${db:Status-Status}\n' "$package" 2>/dev/null | grep -qx installed ||
            echo "$package"
    done < <(sed 's/#.*//' "$1" | awk 'NF { print $1 }')
}

# Installs what is missing of the list FILE. No service is started by that, now or at the next boot:
# nginx in particular would take port 80 of this machine, which is none of our business.
install_packages()
{
    local missing policy=/usr/sbin/policy-rc.d own_policy=
    mapfile -t missing < <(missing_packages "$1")
    if [ ${#missing[@]} -eq 0 ]; then
        say "all packages are there"
        return 0
    fi
    need_root "to install packages: ${missing[*]}"
    say "installing ${#missing[@]} packages"
    if [ ! -e "$policy" ]; then
        own_policy=1
        printf '#!/bin/sh\nexit 101\n' >"$policy" && chmod 755 "$policy"
    fi
    local status=0
    apt_install "${missing[@]}" || status=$?
    [ -z "$own_policy" ] || rm -f "$policy"
    [ "$status" -eq 0 ] || die "apt-get could not install: ${missing[*]}"
    keep_services_off "${missing[@]}"
}

# keep_services_off PACKAGE...: that were just installed.
keep_services_off()
{
    local service
    [ -d /run/systemd/system ] || return 0
    for service in nginx haproxy; do
        [[ " $*" != *" $service"* ]] || systemctl disable --quiet "$service" || true
    done
}

apt_install()
{
    export DEBIAN_FRONTEND=noninteractive
    apt-get update -qq && apt-get install -y -qq --no-install-recommends "$@" >/dev/null
}
