"""Records of scheduling passes, and the time that decisions take."""
