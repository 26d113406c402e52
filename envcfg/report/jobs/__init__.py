"""Many jobs as text, tables for programs, and a page."""
