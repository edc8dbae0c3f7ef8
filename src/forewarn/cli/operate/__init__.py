"""Commands of operators: announce, change and inspect."""
