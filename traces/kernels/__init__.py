"""How kernels become machine code: their declaration, their compilation, and their storage."""
