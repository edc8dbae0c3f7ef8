"""Linter for programs that use Scheduled Events: course, rules, report."""
