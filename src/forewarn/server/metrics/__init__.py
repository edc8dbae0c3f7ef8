"""What is told to those who watch the service from outside."""
