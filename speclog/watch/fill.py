"""Whether the requests of a batch are equally long, told while the log grows as by view ``batch_mix``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

_ALIKE = 1.1  # prompts within 10 % of each other


@dataclass(slots=True)
class Fill:
    """How one rank's batch filled up since it was empty. Before the first such prefill it counts as mixed."""

    shortest: float = 0.0
    longest: float = 0.0
    begun: bool = False
    decoded: bool = False
    late: bool = False

    def prefill(self, fields: Mapping[str, Any]) -> None:
        """A prefill line: it begins a batch when nothing ran, else it joins the one there is."""
        prompts = (fields.get("new_token") or 0) + (fields.get("cached_token") or 0)
        prompt = prompts / max(fields.get("new_seq") or 1, 1)
        if not fields.get("running_req"):
            self.shortest = self.longest = prompt
            self.begun, self.decoded, self.late = True, False, False
            return
        self.shortest, self.longest = min(self.shortest, prompt), max(self.longest, prompt)
        self.late |= self.decoded

    def decode(self) -> bool:
        """A decode line: whether its requests are of unequal length."""
        self.decoded = True
        return not self.begun or self.longest > _ALIKE * self.shortest or self.late
