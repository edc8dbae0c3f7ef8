"""Linter for programs that use Scheduled Events: course, rules and report."""
