"""The operator's API, /v1/...: one module a noun."""
