"""What is measured of a schedule."""
