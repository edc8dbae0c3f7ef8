"""The operator API, /v1/...: one module per resource."""
