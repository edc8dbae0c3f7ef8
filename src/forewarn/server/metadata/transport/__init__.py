"""HTTP/1.1 of the metadata plane, down to the socket."""
