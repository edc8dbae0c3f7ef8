get() { wget -q -O - --header Metadata:true "$1"; }
post() { wget -q -O - --header Metadata:true --post-data "$2" "$1"; }
