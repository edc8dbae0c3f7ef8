"""What is said on the wire; pure, standard library only."""
