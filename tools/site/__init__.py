"""The site of the documentation: the pages of ``docs`` as HTML, and pages made from the code (``make docs``)."""
