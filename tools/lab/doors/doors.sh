# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
# What else can stand at the gate, in front of the same service: a proxy, or a rule of the kernel's.
# A part of lab, which sources it.

readonly door_address=10.9.0.1 # of a proxy, on the bridge between clients and service

# need_door NAME: may be asked before anything is made.
need_door()
{
    local program
    case $1 in
    haproxy | nginx) program=$1 ;;
    nftables) program=nft ;;
    *) die "--with $1: haproxy, nginx or nftables" ;;
    esac
    command -v "$program" >/dev/null || die "$program is missing; see tools/packages"
}

# Where clients turn to when this door is there.
door_target()
{
    case $1 in
    haproxy | nginx) echo $door_address ;;
    *) echo "$service" ;;
    esac
}

# start_door NAME: on the bridge, which is there, in front of the service, which runs.
start_door()
{
    local door=$1
    # Also for nftables: what its rule refuses is answered by this host, which needs a way to clients.
    ip -n "$gateway" addr add $door_address/8 dev br0
    inside_namespace "$gateway" sysctl -qw net.ipv4.ip_local_port_range="10240 65535" \
        net.core.somaxconn=4096
    sed -e "s|@STATE@|$state|g" -e "s|@DOOR@|$door_address|g" -e "s|@SERVICE@|$service|g" \
        -e "s|@CONNECTIONS@|$(($(ulimit -n) - 64))|g" "$here/doors/$door.in" >"$state/door.conf"
    case $door in
    haproxy) start_proxy haproxy -db -f "$state/door.conf" ;;
    nginx) start_proxy nginx -p "$state" -c "$state/door.conf" -e "$state/door.log" ;;
    nftables) add_door_rules ;;
    esac
}

start_proxy()
{
    spawn door "$gateway" "$@"
    wait_until door 5 proxy_listens
}

proxy_listens()
{
    inside_namespace "$gateway" bash -c "exec 3<>/dev/tcp/$door_address/80"
}

# Connections are tracked for IP's hooks only (there need not be a tracker for bridges), to which
# br_netfilter takes what crosses the bridge. The rules go with the namespace.
add_door_rules()
{
    inside_namespace "$gateway" sysctl -qw net.bridge.bridge-nf-call-iptables=1 ||
        die "nothing on a bridge can be tracked here: no br_netfilter"
    inside_namespace "$gateway" nft -f "$state/door.conf"
}
