"""What envcfg does, as functions: the command line and ``envcfg.api`` both call them.

They take plain arguments, return records, raise envcfg's errors, and print nothing; what
is to be said before the end goes to ``tell``.
"""
