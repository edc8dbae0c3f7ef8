"""The operator's API, /v1/...: one module per resource."""
