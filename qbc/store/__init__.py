"""Content-addressed weight store."""

from qbc.store.store import BlobStore, content_key, map_file

__all__ = ["BlobStore", "content_key", "map_file"]
