"""Which preset a configuration comes from: what was asked for, saved and recorded with the settings."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from qbc.pipelines.phases import Preset

if TYPE_CHECKING:
    from qbc.config.model import CompileConfig
    from qbc.config.origin import OriginConfig
    from qbc.config.resolve import Resolved

_NO_SETTINGS = ("origin", "pass_pipeline")


def with_origin(resolved: Resolved, preset: Preset | None, kept: OriginConfig | None = None) -> Resolved:
    """Enter the preset that was asked for into a resolved configuration.

    Without one, the origin that a saved configuration tells stays as long as its settings are as they were saved; else
    it is dropped, with a notice. `kept` is entered as it is: for what the compiler itself derives from settings.
    """
    from qbc.config.origin import OriginConfig

    config, told = resolved.config, resolved.config.origin
    if preset is not None:
        own = OriginConfig(preset=preset.name, sha256=preset_digest(preset), settings=settings_digest(config))
        return replace(resolved, config=config.model_copy(update={"origin": own}))
    if kept is not None:
        return replace(resolved, config=config.model_copy(update={"origin": kept}))
    if told == OriginConfig() or told.settings == settings_digest(config):
        return resolved
    notice = f"origin has no effect: the settings are no longer those that preset {told.preset!r} was saved with"
    return replace(
        resolved, config=config.model_copy(update={"origin": OriginConfig()}), notices=(*resolved.notices, notice)
    )


def settings_digest(config: CompileConfig) -> str:
    """Return a digest of the settings that differ from the defaults, in whatever spelling they were given.

    Without paths, and without an edited pipeline: beside a preset it is recorded as pipeline too.
    """
    from qbc.config.fields import changed_fields
    from qbc.config.model import is_path

    paths = [path for path in changed_fields(config) if not is_path(path) and path.split(".")[0] not in _NO_SETTINGS]
    values = config.model_dump(mode="json")
    return _digest({path: _entry(values, path) for path in paths})


def _entry(values: Any, path: str) -> Any:
    for part in path.split("."):
        values = values[part]
    return values


def preset_digest(preset: Preset) -> str:
    """Return a digest of what a preset and its bases say: settings without paths, and pipelines."""
    from qbc.config.checks import checked
    from qbc.config.model import CompileConfig
    from qbc.config.section import explicit, merge

    values: dict[str, Any] = {}
    for layer in preset.layers:
        values = merge(values, explicit(checked(CompileConfig, layer, where=f"preset {preset.name}")))
    settings = settings_digest(checked(CompileConfig, values, where=f"preset {preset.name}"))
    return _digest({"settings": settings, "pipelines": dict(preset.pipelines)})


def _digest(values: Any) -> str:
    text = json.dumps(values, sort_keys=True, ensure_ascii=True)
    return hashlib.sha256(text.encode("ascii")).hexdigest()
