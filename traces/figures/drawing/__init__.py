"""What figures are drawn with: the door to matplotlib, axes, boxes, step functions."""
