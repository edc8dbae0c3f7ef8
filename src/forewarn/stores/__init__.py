"""Where state and journal are kept: one SQL store for every database."""
