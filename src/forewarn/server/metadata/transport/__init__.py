"""The metadata plane's HTTP/1.1 implementation, down to the socket."""
