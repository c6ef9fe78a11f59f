"""Content-addressed weight store and the container that snapshots are written in."""

from qbc.atomic import atomic_write
from qbc.store.blob_section import adopt_blobs, blob_sections
from qbc.store.container import Container, read_container, write_container
from qbc.store.store import BlobStore, content_key, map_file

__all__ = [
    "BlobStore",
    "Container",
    "adopt_blobs",
    "atomic_write",
    "blob_sections",
    "content_key",
    "map_file",
    "read_container",
    "write_container",
]
