"""One module per command: ``add_parser``, and ``run``, which returns an exit code.

``run`` takes the options that were read, the words behind ``--`` (None where there was no
``--``), and the whole command line, which the header of a script names.
"""
