"""Drawing tools of figures: access to matplotlib, axes, boxes, step functions."""
