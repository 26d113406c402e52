"""The generated bash: templates, and what fills them."""
