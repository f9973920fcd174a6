"""
Count the results that the steps of `make test` left in a folder.

The results are the files `lint.ok` and `types.ok`, and the JUnit files `lit.xml` and
`pytest.xml`. The last line printed is the total, also written to the file `total`. The
exit status is 1 if a check failed or a file is missing.
"""

import sys
import xml.etree.ElementTree as ElementTree
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Count:
    """Number of checks, by outcome."""

    passed: int = 0
    failed: int = 0
    skipped: int = 0

    def __add__(self, other: "Count") -> "Count":
        return Count(
            self.passed + other.passed,
            self.failed + other.failed,
            self.skipped + other.skipped,
        )

    def __str__(self) -> str:
        return f"{self.passed} passed, {self.failed} failed"


def count_check(file: Path) -> Count:
    """Return the count of a step, which passed if `file` exists."""
    return Count(passed=1) if file.exists() else Count(failed=1)


def count_junit(file: Path) -> Count:
    """
    Return the count of the test cases in `file`; no test cases count as a failure.
    """
    try:
        cases = list(ElementTree.parse(file).iter("testcase"))
    except (OSError, ElementTree.ParseError):
        return Count(failed=1)
    count = Count()
    for case in cases:
        if case.find("failure") is not None or case.find("error") is not None:
            count += Count(failed=1)
        elif case.find("skipped") is not None:
            count += Count(skipped=1)
        else:
            count += Count(passed=1)
    return count if cases else Count(failed=1)


def main() -> None:
    """Print the counts of the folder given as argument."""
    folder = Path(sys.argv[1])
    counts = {
        "lint": count_check(folder / "lint.ok"),
        "types": count_check(folder / "types.ok"),
        "lit": count_junit(folder / "lit.xml"),
        "pytest": count_junit(folder / "pytest.xml"),
    }
    for step, count in counts.items():
        print(f"{step}: {count}, {count.skipped} skipped")
    total = sum(counts.values(), Count())
    print(total)
    (folder / "total").write_text(f"{total}\n", encoding="utf-8")
    sys.exit(total.failed > 0)


if __name__ == "__main__":
    main()
