get() { curl -sS -f -H Metadata:true "$1"; }
post() { curl -sS -f -H Metadata:true -X POST -d "$2" "$1"; }
