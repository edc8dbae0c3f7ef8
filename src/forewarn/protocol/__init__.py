"""Wire protocol of Scheduled Events; pure, using only the standard library."""
