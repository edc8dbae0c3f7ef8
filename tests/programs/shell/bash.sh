# Plain bash: one connection per request, kept open by the server and closed here.
get() {
    connect "$1"
    send GET "$where"
    local line length=0
    while IFS= read -r line <&"$wire" && [ "$line" != $'\r' ]; do
        case $line in Content-Length:*) length=${line//[!0-9]/} ;; esac
    done
    head -c "$length" <&"$wire"
    exec {wire}>&-
}

post() {
    connect "$1"
    send POST "$where" "$2"
    local status
    IFS= read -r status <&"$wire"
    exec {wire}>&-
    [ "$status" = $'HTTP/1.1 200 OK\r' ]
}

connect() {
    local rest=${1#http://}
    where=/${rest#*/}
    rest=${rest%%/*}
    exec {wire}<>"/dev/tcp/${rest%:*}/${rest#*:}"
}

send() {
    local body=${3-}
    printf "%s\r\n" "$1 $2 HTTP/1.1" "Host: vm" "metadata: True" \
        "Content-Length: ${#body}" "" >&"$wire"
    printf %s "$body" >&"$wire"
}
