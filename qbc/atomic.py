"""Files that appear whole or not at all."""

from __future__ import annotations

import errno
import fcntl
import os
import re
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from qbc.errors import QBCompilerError

_unfinished: set[Path | None] = set()


@contextmanager
def atomic_write(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Open `path` for writing; the file replaces the old one when the block ends, and nothing is left when it fails.

    On Linux the bytes go to an unnamed file, so even a killed process leaves nothing behind (when an old file is
    replaced, but for the instant between two system calls; `check_writable` removes what it left then). A character
    device such as `/dev/null` stays and gets the bytes at the end. Raises OUTPUT_WRITE_ERROR naming the path when it
    cannot be written, or is neither a regular file nor such a device.
    """
    target = Path(path)
    if is_device(target):
        with _device_write(target) as handle:
            yield handle
        return
    try:
        handle, temporary = _open_temporary(target)
    except OSError as error:
        raise _write_error(target, error) from None
    if temporary is not None:
        _unfinished.add(temporary)
    try:
        with handle:
            _lock(handle.fileno())
            yield handle
            handle.flush()
            os.fchmod(handle.fileno(), 0o666 & ~_umask())
            os.fsync(handle.fileno())
            if temporary is None:
                temporary = _link(handle.fileno(), target)
        if temporary != target:
            os.replace(temporary, target)
    except BaseException as error:
        if temporary is not None and temporary != target:
            temporary.unlink(missing_ok=True)
        if isinstance(error, OSError):
            raise _write_error(target, error) from None
        raise
    finally:
        _unfinished.discard(temporary)


@contextmanager
def _device_write(target: Path) -> Iterator[BinaryIO]:
    """Collect bytes and copy them to a device, which cannot seek."""
    from tempfile import TemporaryFile

    with TemporaryFile() as collected:
        yield collected
        collected.seek(0)
        try:
            with target.open("wb") as device:
                shutil.copyfileobj(collected, device)
        except OSError as error:
            raise _write_error(target, error) from None


def is_device(path: Path) -> bool:
    """Return whether `path` is a character device: something to write to that keeps no file."""
    try:
        return path.is_char_device()
    except OSError:  # a name that no file can have; whoever writes it says so
        return False


def check_writable(path: Path) -> None:
    """Raise OUTPUT_WRITE_ERROR before any work when a file cannot be written at `path`.

    Temporary files of `path` that killed processes left are removed.
    """
    try:
        problem = _obstacle(path)
    except OSError as error:
        problem = error.strerror or str(error)
    if problem is not None:
        raise QBCompilerError(f"cannot write {str(path)!r}: {problem}", code="OUTPUT_WRITE_ERROR")
    if not is_device(path):
        _remove_abandoned(path)


def _obstacle(path: Path) -> str | None:
    if path.is_dir():
        return "it is a directory"
    if is_device(path):
        return None if os.access(path, os.W_OK) else "it is not writable"
    if path.exists() and not path.is_file():
        return "it is not a regular file"  # replacing a pipe would remove it
    if not path.parent.is_dir():
        return f"directory {str(path.parent)!r} does not exist"
    if not os.access(path.parent, os.W_OK):
        return f"directory {str(path.parent)!r} is not writable"
    return None


@contextmanager
def temporary_directory() -> Iterator[Path]:
    """Make a directory for files that are thrown away; it goes when the block ends, or with `remove_unfinished`."""
    import secrets
    from tempfile import gettempdir

    path = Path(gettempdir()) / f"qbcompiler-{os.getpid()}-{secrets.token_hex(8)}"
    _unfinished.add(path)  # before it exists: a signal may come at any moment
    try:
        path.mkdir(mode=0o700)
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)
        _unfinished.discard(path)


def remove_unfinished() -> None:
    """Remove the temporary files that this process is writing: for a process that is about to end."""
    for path in tuple(_unfinished):
        if path is None:
            continue
        if path.is_dir():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)


def write_file(path: str | os.PathLike[str], text: str) -> None:
    """Write a text file as UTF-8, whole or not at all; its directory is made. Raises OUTPUT_WRITE_ERROR."""
    target = Path(path)
    with undone_on_failure() as made:
        make_directory(target.parent, made, target)
        with atomic_write(target) as handle:
            handle.write(text.encode("utf-8", "surrogatepass"))


@contextmanager
def undone_on_failure() -> Iterator[list[Path]]:
    """Yield a list for the files and directories that a block makes; they are removed when the block fails."""
    made: list[Path] = []
    try:
        yield made
    except BaseException:
        for path in reversed(made):
            with suppress(OSError):  # gone already, or a directory that holds what somebody else wrote
                path.rmdir() if path.is_dir() else path.unlink()
        raise


def make_directory(path: Path, made: list[Path], target: Path | None = None) -> None:
    """Make a directory with its parents and add those that were missing to `made`.

    Raises OUTPUT_WRITE_ERROR, which names `target`, the file that the directory is for, where there is one.
    """
    try:
        for directory in (*reversed(path.parents), path):
            if not directory.exists():
                directory.mkdir(exist_ok=True)
                made.append(directory)
        path.mkdir(exist_ok=True)
    except OSError as error:
        if target is not None:
            raise _write_error(target, error) from None
        raise QBCompilerError(
            f"cannot make directory {str(path)!r}: {error.strerror}", code="OUTPUT_WRITE_ERROR"
        ) from None


def _open_temporary(target: Path) -> tuple[BinaryIO, Path | None]:
    problem = _obstacle(target)
    if problem is not None:
        raise OSError(errno.EINVAL, problem)
    unnamed = getattr(os, "O_TMPFILE", 0)
    if unnamed:
        try:
            return os.fdopen(os.open(target.parent, unnamed | os.O_RDWR, 0o600), "wb"), None
        except OSError:  # the file system has no unnamed files: a hidden named one serves
            pass
    temporary = _temporary_name(target)
    return os.fdopen(os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "wb"), temporary


def _temporary_name(target: Path) -> Path:
    return target.with_name(f".{target.name}.{os.getpid()}.tmp")


def _remove_abandoned(target: Path) -> None:
    """Remove the temporary files of `target` whose processes have ended; what is in doubt stays."""
    name = re.compile(re.escape(f".{target.name}.") + r"([0-9]+)\.tmp")
    try:
        found = [(match[0], int(match[1])) for match in map(name.fullmatch, os.listdir(target.parent)) if match]
    except OSError:  # a directory that can be written but not listed
        return
    for entry, process in found:
        path = target.parent / entry
        if path not in _unfinished and _has_ended(process):
            _remove_unlocked(path)


def _has_ended(process: int) -> bool:
    """Return whether no such process runs; a file of our own number that we do not write is of an earlier process."""
    if process == os.getpid():
        return True
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return True
    except (OSError, OverflowError):
        return False
    return False


def _remove_unlocked(path: Path) -> None:
    """Remove a regular file of this user that nobody has locked: its writer may run where its number means nothing."""
    with suppress(OSError):  # gone, a link, locked by its writer, or the file system has no locks
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        try:
            status = os.fstat(descriptor)
            if stat.S_ISREG(status.st_mode) and status.st_uid == os.geteuid():
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                path.unlink()
        finally:
            os.close(descriptor)


def _lock(descriptor: int) -> None:
    """Mark a file as being written, for processes that look for abandoned ones."""
    with suppress(OSError):  # a file system without locks: nobody can take one to remove the file either
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)


def _link(descriptor: int, target: Path) -> Path:
    """Give an unnamed file its name, or a temporary one where the name is taken; returns which."""
    try:
        return _link_as(descriptor, target)
    except FileExistsError:
        temporary = _temporary_name(target)
        _unfinished.add(temporary)
        temporary.unlink(missing_ok=True)
        return _link_as(descriptor, temporary)


def _link_as(descriptor: int, path: Path) -> Path:
    directory = os.open(path.parent, os.O_RDONLY)
    try:  # a directory descriptor selects linkat, the only call that follows the symbolic link of /proc
        os.link(f"/proc/self/fd/{descriptor}", path, src_dir_fd=directory, follow_symlinks=True)
    finally:
        os.close(directory)
    return path


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def _write_error(target: Path, error: OSError) -> QBCompilerError:
    reason = error.strerror or str(error)
    return QBCompilerError(
        f"cannot write {str(target)!r}: {reason}",
        code="OUTPUT_WRITE_ERROR",
        hint="check that the directory exists, permissions and free space",
    )
