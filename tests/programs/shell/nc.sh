get() { request "$1" GET | tail -n 1; }
post() { request "$1" POST "$2" | grep -q '^HTTP/1.1 200 '; }

request() {
    local rest=${1#http://}
    local where=${rest%%/*}
    write "$2 /${rest#*/} HTTP/1.0" "${3-}" | nc -w 5 "${where%:*}" "${where#*:}"
}

write() {
    printf '%s\r\n' "$1" 'Metadata: true' "Content-Length: ${#2}" '' && printf %s "$2"
}
