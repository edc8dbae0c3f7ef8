"""Wire protocol of Scheduled Events; pure, standard library only."""
