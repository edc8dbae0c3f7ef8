"""A linter for programs that use Scheduled Events: course, rules and report."""
