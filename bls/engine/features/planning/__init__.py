"""Who makes a scheduling pass, and how: reservations, cores told apart, scores, decisions in Python, widths at the start."""
