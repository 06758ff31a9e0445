"""What the package says on an index: links and the picture of the README lead somewhere there.

`SFUMATO_REPOSITORY=https://… make package` names the public home of a release. Then the README's
relative links point into that repository at the tag of the version, and the project's addresses are
stated. Without it the README stays as it is, and no address is made up.

`SFUMATO_KERNELS=…/_kernels.….so` names what `native/build.py` made. Then the wheel ships it, is one
for this Python and this kind of machine alone, and needs no numba. Without it the wheel is for any
machine, and compiles with numba what is called.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import sysconfig
from pathlib import Path

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from hatchling.metadata.plugin.interface import MetadataHookInterface

LINK = re.compile(r"(!?)\[((?:[^\[\]]|\[[^\]]*\])*)\]\((?!https?://|#|mailto:)([^)\s]+)\)")
HOME = "SFUMATO_REPOSITORY"
KERNELS = "SFUMATO_KERNELS"


class PackageMetadata(MetadataHookInterface):
    """Gives the package its README and addresses."""

    def update(self, metadata: dict[str, object]) -> None:
        """Fill in what pyproject.toml calls dynamic."""
        home = os.environ.get(HOME, "").rstrip("/")
        text = Path(self.root, "README.md").read_text(encoding="utf-8")
        told = absolute(text, home, f"v{metadata['version']}") if home else text
        metadata["readme"] = {"content-type": "text/markdown", "text": told}
        metadata["urls"] = addresses(home) if home else {}


class CompiledKernels(BuildHookInterface):
    """Puts what was compiled into the wheel, or asks for numba."""

    def initialize(self, version: str, build_data: dict[str, object]) -> None:
        """Say what the wheel holds, for which machines it is and what it needs."""
        made = os.environ.get(KERNELS)
        if made and version == "standard":
            build_data["force_include"][made] = f"sfumato/{Path(made).name}"
            build_data["pure_python"] = False
            build_data["tag"] = tag(Path(made))
        else:
            build_data["dependencies"] += self.metadata.core.optional_dependencies["compiler"]


def tag(library: Path) -> str:
    """Return the tag of a wheel with a library: this Python, and the C library it asks for."""
    python = "cp{}{}".format(*sys.version_info[:2])
    platform = sysconfig.get_platform().replace("-", "_").replace(".", "_")
    if platform.startswith("linux"):
        asked = subprocess.run(  # noqa: S603 - a file that was just built
            ["objdump", "-T", library],  # noqa: S607 - as gcc, which made it
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        versions = [(2, int(minor)) for minor in re.findall(r"GLIBC_2\.(\d+)", asked)]
        foreign = re.findall(r"(?:GLIBCXX|CXXABI|GCC)_[\d.]+", asked)
        if versions and not foreign:
            lowest = max((2, 17), *versions)
            platform = platform.replace("linux", "manylinux_{}_{}".format(*lowest))
    return f"{python}-{python}-{platform}"


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
