"""The mark by which a test names the clause (SR-…) or invariant (M, S, P, V, T, C …) that it proves."""

import pytest

requirement = pytest.mark.requirement
