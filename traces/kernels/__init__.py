"""How kernels become machine code: what they are declared with, what they are built from, where they are kept."""
