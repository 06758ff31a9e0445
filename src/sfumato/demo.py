"""`make demo`: the whole way once, on made-up patients."""

from __future__ import annotations

import sys
from pathlib import Path

from sfumato.cli import run

STEPS = (
    ("Make 10,000 patients, their schema and hierarchies", "example {f}/data --rows 10000"),
    ("Look at the data: who could be singled out by what?", ("inspect {f}/data/patients.csv "
     "--output {f}/data/suggested.yaml --force")),
    ("Anonymise: 5-anonymity, and 3 different diagnoses in every class",
     ("anonymize {f}/data/patients.csv -s {f}/data/patients.yaml -k 5 -l 3:diagnosis "
     "--suppression 0.02 --sweep k=2,3,5,10,20,50 -o {f}/release --force")),
    ("Verify the file, from the file alone",
     "verify {f}/release/release.csv -s {f}/data/patients.yaml"),
)  # fmt: skip


def main(folder: str) -> int:
    """Run the steps; return the first exit code that is not 0."""
    Path(folder).mkdir(parents=True, exist_ok=True)
    for title, line in STEPS:
        arguments = line.format(f=folder).split(" ")
        print(f"\n── {title}\n$ sfumato {' '.join(arguments)}\n", flush=True)  # noqa: T201 - a demo talks
        code = run(arguments)
        if code:
            return code
    report = (Path(folder) / "release" / "report.html").resolve()
    print(f"\nLook at the report: {report}\n", flush=True)  # noqa: T201 - a demo talks
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1] if len(sys.argv) > 1 else "demo"))
