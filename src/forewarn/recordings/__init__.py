"""Recordings of a metadata service: file format, recorder and scrubber."""
