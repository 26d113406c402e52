"""Changes of the code that a test should notice, and the tests that do."""
