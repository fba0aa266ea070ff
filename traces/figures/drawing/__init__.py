"""Drawing tools of figures: the door to matplotlib, axes, boxes, step functions."""
