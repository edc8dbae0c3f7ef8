"""Journal readers: documents, driver calls, metrics and notifications."""
