"""Reading of JSON and YAML text that people write: one reason for whatever is wrong, nothing overwritten silently."""

from __future__ import annotations

import errno
import json
import os
import stat
from functools import cache
from pathlib import Path
from typing import Any


def parse_structured(text: str, suffix: str) -> Any:
    """Return the content of JSON (`.json`) or YAML text; raises ValueError with the reason, in one line.

    Keys that occur twice, numbers that are none, and YAML aliases (a few lines could stand for gigabytes) are refused.
    """
    try:
        if suffix == ".json":
            return json.loads(text, object_pairs_hook=_without_repetition, parse_constant=_refuse_constant)
        return _load_yaml(text)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    except ValueError as error:
        raise ValueError(" ".join(str(error).split())) from None


def _without_repetition(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) < len(pairs):
        keys = [key for key, _ in pairs]
        repeated = next(key for key in keys if keys.count(key) > 1)
        raise ValueError(f"the key {repeated!r} occurs twice in one mapping")
    return result


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is not a number of JSON")


def _load_yaml(text: str) -> Any:
    import yaml

    try:
        return yaml.load(text, Loader=_loader())
    except yaml.YAMLError as error:
        raise ValueError(str(error)) from None
    except (ArithmeticError, LookupError, TypeError, AttributeError) as error:
        # The constructors of the library meet scalars that their tag does not fit: `!!int ""`, dates without a month.
        raise ValueError(f"a value does not fit its type: {error}") from None


@cache
def _loader() -> Any:
    import yaml

    class Loader(yaml.SafeLoader):
        """YAML without aliases, repeated keys and keys that are not text."""

        def compose_node(self, parent: Any, index: Any) -> Any:
            if self.check_event(yaml.AliasEvent):
                event: Any = self.peek_event()  # type: ignore[no-untyped-call]  # no type in the stubs of PyYAML
                raise _problem("aliases (*name) are not accepted", event.start_mark)
            return super().compose_node(parent, index)

        def construct_mapping(self, node: Any, deep: bool = False) -> Any:
            keys = [self.construct_object(key, deep=True) for key, _ in node.value]
            for key, (key_node, _) in zip(keys, node.value, strict=True):
                if not isinstance(key, str):
                    raise _problem("a key is not text", key_node.start_mark)
                if keys.count(key) > 1:
                    raise _problem(f"{key!r} occurs twice", key_node.start_mark)
            return super().construct_mapping(node, deep)

    def _problem(text: str, mark: Any) -> yaml.YAMLError:
        return yaml.constructor.ConstructorError(None, None, text, mark)

    return Loader


def read_file_text(path: Path) -> str:
    """Return the UTF-8 text of a regular file, without a byte order mark; nothing waits for the writer of a pipe.

    Raises OSError for anything that is no regular file, UnicodeDecodeError for other bytes.
    """
    with os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK), encoding="utf-8-sig") as handle:
        kind = os.fstat(handle.fileno()).st_mode
        if stat.S_ISFIFO(kind) or stat.S_ISSOCK(kind):
            raise OSError(errno.EINVAL, "it is not a regular file", str(path))
        return handle.read()
