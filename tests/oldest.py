"""The requirements of pyproject.toml, each with its lower bound as the version: `make oldest` tests with them."""

from __future__ import annotations

import re
import sys
from pathlib import Path

TOLD = Path(__file__).parents[1] / "pyproject.toml"
EXTRAS = ("mjcf", "symbolic")
TESTING = ("pytest", "hypothesis")


def oldest(text: str) -> list[str]:
    """Pins such as "numpy==1.26" of what the package, some extras and the tests need."""
    wanted = re.search(r"^dependencies = \[(.*?)^\]", text, re.DOTALL | re.MULTILINE)
    parts = [wanted.group(1) if wanted else ""]
    parts += [found for name in EXTRAS for found in re.findall(rf"^{name} = \[(.*?)\]", text, re.MULTILINE)]
    parts += re.findall(rf'"(?:{"|".join(TESTING)})>=[^"]*"', text)
    return [bound.replace(">=", "==", 1) for part in parts for bound in re.findall(r'"([^"]+)"', part)]


if __name__ == "__main__":
    sys.stdout.write("\n".join(oldest(TOLD.read_text())) + "\n")
