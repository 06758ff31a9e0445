"""What the package says on an index: links and the picture of the README lead somewhere there.

`SFUMATO_REPOSITORY=https://… make package` names the public home of a release. Then the README's
relative links point into that repository at the tag of the version, and the project's addresses are
stated. Without it the README stays as it is, and no address is made up.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

from hatchling.metadata.plugin.interface import MetadataHookInterface

LINK = re.compile(r"(!?)\[((?:[^\[\]]|\[[^\]]*\])*)\]\((?!https?://|#|mailto:)([^)\s]+)\)")
HOME = "SFUMATO_REPOSITORY"


class PackageMetadata(MetadataHookInterface):
    """Gives the package its README and addresses."""

    def update(self, metadata: dict[str, object]) -> None:
        """Fill in what pyproject.toml calls dynamic."""
        home = os.environ.get(HOME, "").rstrip("/")
        text = Path(self.root, "README.md").read_text(encoding="utf-8")
        told = absolute(text, home, f"v{metadata['version']}") if home else text
        metadata["readme"] = {"content-type": "text/markdown", "text": told}
        metadata["urls"] = addresses(home) if home else {}


def absolute(text: str, home: str, tag: str) -> str:
    """Point relative links into a repository at a tag; pictures at their bytes."""

    def replaced(found: re.Match[str]) -> str:
        mark, words, target = found.groups()
        kind = "raw" if mark else "blob"
        return f"{mark}[{words}]({home}/{kind}/{tag}/{target})"

    return LINK.sub(replaced, text)


def addresses(home: str) -> dict[str, str]:
    """Return the addresses that an index shows beside the package."""
    return {
        "Homepage": home,
        "Documentation": f"{home}/blob/main/docs/index.md",
        "Changelog": f"{home}/blob/main/CHANGELOG.md",
        "Issues": f"{home}/issues",
        "Security": f"{home}/blob/main/SECURITY.md",
    }
