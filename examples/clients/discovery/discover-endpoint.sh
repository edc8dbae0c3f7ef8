#!/usr/bin/env bash
# Prints the address of the metadata service that DHCP announces (option 245).
# Usage: discover-endpoint.sh [INTERFACE]. Run it as root on Linux. It takes no lease.
# Needs ip, socat and xxd. Messages are strings of hexadecimal digits here.
set -euo pipefail

seconds=${DISCOVER_SECONDS:-15} # one DISCOVER per second
cookie=63825363

fail() {
    echo "discover: $1" >&2
    exit 1
}

zeros() { # number of bytes
    printf '%0*d' $((2 * $1)) 0
}

# Prints a DISCOVER that requests option 245, as described in RFC 2131. The flag 8000
# requests a broadcast reply. Relays may drop messages shorter than 300 bytes.
discover_message() {
    printf %s 01010600 "$transaction" 0000 8000 "$(zeros 16)" "$mac" "$(zeros 202)" \
        "$cookie" 350101 370201f5 ff "$(zeros 52)"
}

# Prints option 245 in an offer, or nothing if the offer does not have it.
address_in() { # options
    local rest=$1 code size value kind='' address=''
    while ((${#rest} >= 4)) && [[ ${rest:0:2} != ff ]]; do
        code=${rest:0:2}
        if [[ $code == 00 ]]; then # padding
            rest=${rest:2}
            continue
        fi
        size=$((16#${rest:2:2}))
        value=${rest:4:2*size}
        rest=${rest:4+2*size}
        case $code in
            35) kind=$value ;;
            f5) address=$value ;;
        esac
    done
    if [[ $kind == 02 && ${#address} == 8 ]]; then
        printf '%d.%d.%d.%d\n' "0x${address:0:2}" "0x${address:2:2}" \
            "0x${address:4:2}" "0x${address:6:2}"
    fi
}

(($# <= 1)) || { echo "usage: ${0##*/} [INTERFACE]" >&2 && exit 2; }
for tool in awk ip socat xxd; do
    command -v "$tool" >/dev/null || fail "$tool is not installed"
done
[[ $seconds =~ ^[1-9][0-9]{0,3}$ ]] ||
    fail "DISCOVER_SECONDS must be from 1 to 9999, not '$seconds'"
interface=${1-}
if [[ -z $interface ]]; then
    interface=$(ip -oneline link show up |
        awk -F'[ :@]+' '/link\/ether/ && !name { name = $2 } END { print name }')
    [[ -n $interface ]] || fail "no Ethernet interface is up; bring one up"
fi
link=$(ip -oneline link show dev "$interface" 2>/dev/null) ||
    fail "network interface '$interface' not found"
[[ $link =~ link/ether\ ([0-9a-f:]{17}) ]] ||
    fail "network interface '$interface' is not Ethernet"
mac=${BASH_REMATCH[1]//:/}
transaction=$(xxd -p -l 4 /dev/urandom)

servers=UDP-DATAGRAM:255.255.255.255:67,broadcast,bind=:68,reuseaddr
for ((attempt = 0; attempt < seconds; attempt++)); do
    # After sending the message, socat collects replies for one second (-t).
    replies=$(discover_message | xxd -r -p |
        socat -t 1 - "$servers,so-bindtodevice=$interface" | xxd -p | tr -d '\n') ||
        fail "cannot use DHCP on $interface; check that it is up, and run this as root"
    # A reply to this message: its start, its addresses, its names, its options.
    start="020106..$transaction.{40}$mac.{404}$cookie"
    while [[ $replies =~ $start ]]; do
        replies=${replies#*"${BASH_REMATCH[0]}"}
        address=$(address_in "$replies")
        if [[ -n $address ]]; then
            echo "$address"
            exit
        fi
    done
done
fail "no DHCP server on $interface announced option 245"
