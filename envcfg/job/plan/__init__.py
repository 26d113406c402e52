"""The plan of one job: everything it will do, before any bash is written."""
