DESCRIPTION = ""
USAGE = ""
EPILOG = ""


def add_options(parser): ...
