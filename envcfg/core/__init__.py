"""The use cases of envcfg as functions, called by the command line and ``envcfg.api``.

They take plain arguments, return records, raise envcfg's errors, and print nothing; what
is to be said before the end goes to ``tell``.
"""
