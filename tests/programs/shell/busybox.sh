get() { busybox wget -q -O - --header Metadata:true "$1"; }
post() { busybox wget -q -O - --header Metadata:true --post-data "$2" "$1"; }
