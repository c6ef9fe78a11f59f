"""Checking of values from files, presets and arguments, with one error that says where they come from."""

from __future__ import annotations

from typing import Any, TypeVar

from qbc.config.errors import ConfigValidationError
from qbc.config.section import ConfigSection
from qbc.errors import ConfigError

Section = TypeVar("Section", bound=ConfigSection)


def checked(cls: type[Section], values: Any, *, where: str = "") -> Section:
    """Return `values` (a mapping or an object of the class) as an object of the class.

    Raises CONFIG_ERROR that lists all mistakes after `where`: the name of a file, preset or argument.
    """
    try:
        return cls.model_validate(values)
    except ConfigValidationError as error:
        raise error.within(where) from None
    except ConfigError as error:  # nested too deeply
        raise ConfigError(f"{where}: {error.message}" if where else error.message) from None
