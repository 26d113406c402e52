"""The command line: parser, help and usage errors."""
