"""The options of commands: tables, from which they are read and written again."""
