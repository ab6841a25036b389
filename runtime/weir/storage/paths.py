"""What a path in checkpoint storage may look like, whatever the storage."""

from __future__ import annotations

from weir.errors import StorageError


def checked(path: str) -> str:
    """``path`` itself. Raises StorageError for one that is absolute, climbs out of the root or has an empty segment.

    Paths come out of manifests too, and a damaged or hostile one must not reach beyond the root.
    """
    if any(segment in ("", ".", "..") for segment in path.split("/")) or "\0" in path or "\\" in path:
        raise StorageError(
            f"{path!r} is no path inside checkpoint storage: it must be relative, without '.', '..' and empty parts"
        )
    return path


def checked_prefix(prefix: str) -> str:
    """The same for the prefix of a listing: empty, or a path and ``/``."""
    if prefix:
        assert prefix.endswith("/"), f"the prefix {prefix!r} of a listing must end with /"
        checked(prefix[:-1])
    return prefix
