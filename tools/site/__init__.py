"""The site of the documentation: the pages of ``docs`` as HTML, with what is made from the code (``make docs``)."""
