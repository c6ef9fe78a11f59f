"""Events of a compilation, and what callbacks are given of them."""

from qbc.driver.events import Event, payload_of

__all__ = ["Event", "payload_of"]
