"""A golden cursor stands for one of a server: the first occurrence binds, every later one has to agree."""

from __future__ import annotations

from typing import Any

_CURSORS = frozenset({"cursor", "since", "from", "to"})


class Different(AssertionError):
    """A frame is not the golden one."""


class Names:
    """What each golden cursor stands for; two never stand for one."""

    def __init__(self) -> None:
        self._actual: dict[str, str] = {}
        self._golden: dict[str, str] = {}

    def bind(self, golden: str, actual: str, where: str = "$") -> None:
        if self._actual.setdefault(golden, actual) != actual or self._golden.setdefault(actual, golden) != golden:
            raise Different(f"{where}: {actual} is not what {golden} stands for")

    def learn(self, golden: Any, actual: Any) -> None:  # noqa: ANN401
        """Binds the cursors that stand at the same places, whatever else is different."""
        match golden, actual:
            case dict(), dict():
                for key in golden.keys() & actual.keys():
                    if key in _CURSORS and isinstance(golden[key], str):
                        self._actual.setdefault(golden[key], actual[key])
                    else:
                        self.learn(golden[key], actual[key])
            case list(), list():
                for one, other in zip(golden, actual, strict=False):
                    self.learn(one, other)

    def translated(self, value: Any) -> Any:  # noqa: ANN401
        """The golden value with what its cursors stand for, inside of URIs too."""
        match value:
            case dict():
                return {key: self.translated(item) for key, item in value.items()}
            case list():
                return [self.translated(item) for item in value]
            case str():
                for golden, actual in self._actual.items():
                    value = value.replace(golden, actual)
        return value

    def compare(self, golden: Any, actual: Any, where: str = "$") -> None:  # noqa: ANN401
        """Demands that two values are the same but for their cursors; binds those that are new."""
        if type(golden) is not type(actual):
            raise Different(f"{where}: {actual!r}, not {golden!r}")
        match golden:
            case dict():
                if golden.keys() != actual.keys():
                    raise Different(f"{where}: the members {sorted(actual)}, not {sorted(golden)}")
                for key, value in golden.items():
                    if key in _CURSORS and isinstance(value, str) and "op" not in golden:
                        self.bind(value, actual[key], f"{where}.{key}")
                    else:
                        self.compare(value, actual[key], f"{where}.{key}")
            case list():
                if len(golden) != len(actual):
                    raise Different(f"{where}: {len(actual)} items, not {len(golden)}")
                for index, (one, other) in enumerate(zip(golden, actual, strict=True)):
                    self.compare(one, other, f"{where}[{index}]")
            case _:
                if self.translated(golden) != actual:
                    raise Different(f"{where}: {actual!r}, not {golden!r}")
