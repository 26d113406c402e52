"""SHA-256 without OpenSSL, which takes longer to load than a script takes to make."""

from __future__ import annotations

try:  # CPython 3.12 and later
    from _sha2 import sha256
except ImportError:
    try:  # CPython before
        from _sha256 import sha256
    except ImportError:  # any other Python
        from hashlib import sha256


def sha256_of(data: bytes) -> str:
    """Return the digest of *data*, hexadecimal."""
    return str(sha256(data).hexdigest())
