"""Build `sfumato._kernels`: what numba makes of the kernels, in one library that needs no numba.

    python native/build.py [--baseline 2] [--signatures native/signatures.txt] [--into src/sfumato]

Every line of the signatures names a kernel and types of arguments (`sfumato.compiler.spelled`).
numba compiles them for a processor of the baseline (x86-64-v2: what NumPy asks for). The functions
of one module are linked into one, which drops what occurs twice and what Python never calls, and is
kept (.kernels) until a kernel of it changes; gcc links all with numba's C runtime. Needs numba,
NumPy's and Python's headers, and gcc.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import pickle
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import time
from importlib import import_module
from multiprocessing import get_context
from pathlib import Path

HERE = Path(__file__).resolve().parent
COMPILING = 1
"""To be raised where the same kernels are to be compiled in another way."""

EXTENSION = f"_kernels{sysconfig.get_config_var('EXT_SUFFIX')}"


def numba_type(text):
    """Read one type as `sfumato.compiler` spells it; return it and what follows."""
    import numpy as np
    from numba import from_dtype
    from numba.core import types

    end = next((i for i, letter in enumerate(text) if letter in ",()"), len(text))
    name, rest = text[:end], text[end:]
    if rest.startswith("("):
        items, rest = [], rest[1:]
        while not rest.startswith(")"):
            item, rest = numba_type(rest.removeprefix(","))
            items.append(item)
        if not name:
            return types.BaseTuple.from_types(items), rest[1:]
        module, _, kind = name.partition(":")
        return types.BaseTuple.from_types(items, found(module, kind)), rest[1:]
    dtype, _, shape = name.partition(":")
    scalar = types.boolean if dtype == "b1" else from_dtype(np.dtype(dtype))
    if not shape:
        return scalar, rest
    return types.Array(scalar, int(shape[0]), shape[1], readonly=shape.endswith("r")), rest


def found(module, name):
    """Find a value by its module and qualified name."""
    value = import_module(module)
    for part in name.split("."):
        value = getattr(value, part)
    return value


def found_kernel(place):
    """Find a kernel by its place: of one in two forms, the loop."""
    kernel = found(*place.split(":"))
    return kernel.compiled if hasattr(kernel, "plain") else kernel


def numba_types(text):
    """Read the types of arguments."""
    read, rest = [], text
    while rest:
        kind, rest = numba_type(rest.removeprefix(","))
        read.append(kind)
    return tuple(read)


def compile_module(signatures, baseline, path):
    """Compile the signatures of one module into an object file; return symbols and constants."""
    import llvmlite.binding as llvm
    from numba.core.environment import lookup_environment

    target = llvm.Target.from_default_triple()
    machine = target.create_target_machine(
        cpu=f"x86-64-v{baseline}", opt=3, reloc="pic", codemodel="default"
    )
    linked, symbols, constants = None, [], {}
    for kernel, types in signatures:
        kernel.compile(numba_types(types))
        made = kernel.overloads[numba_types(types)]
        symbols.append(made.fndesc.llvm_cpython_wrapper_name)
        part = llvm.parse_bitcode(made.library._final_module.as_bitcode())
        if linked is None:
            linked = part
        else:
            linked.link_in(part)
    for function in linked.functions:
        if not function.is_declaration and function.name not in symbols:
            function.linkage = "internal"
    builder = llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options(0))
    manager = llvm.create_new_module_pass_manager()
    manager.add_global_dead_code_eliminate_pass()
    manager.run(linked, builder)
    for variable in linked.global_variables:
        known = lookup_environment(variable.name)
        if known is not None:
            constants[variable.name] = pickle.dumps(known.consts, 4)
    path.write_bytes(machine.emit_object(linked))
    return symbols, constants


def compile_all(lines, kept, baseline):
    """Compile what has changed since; return entries, constants of functions and object files."""
    import llvmlite.binding as llvm
    import numba

    from sfumato.compiler import meaning

    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    modules = {}
    for line in lines:
        place, types = line.split(" ")
        kernel = found_kernel(place)
        modules.setdefault(place.split(":")[0], []).append(
            (f"{meaning(kernel)} {line}", kernel, types)
        )
    paths, tasks = {}, {}
    for module, signatures in modules.items():
        said = [said for said, _, _ in signatures]
        facts = (said, baseline, numba.__version__, sys.version_info[:2], COMPILING)
        digest = hashlib.sha256(repr(facts).encode()).hexdigest()[:16]
        paths[module] = kept / f"{module}-{digest}.o"
        if not paths[module].with_suffix(".pickle").exists():
            room = module.rpartition(".")[0]  # its modules call the same kernels
            tasks.setdefault(room, []).append(
                (module, [one[1:] for one in signatures], baseline, paths[module])
            )
    TASKS[:] = sorted(tasks.values(), key=lambda task: -sum(len(one[1]) for one in task))
    with get_context("fork").Pool(min(os.cpu_count(), len(TASKS) or 1)) as pool:
        for told in pool.imap_unordered(compile_room, range(len(TASKS))):
            print(told, end="", flush=True)
    entries, environments = [], {}
    for module, path in paths.items():
        symbols, constants = pickle.loads(path.with_suffix(".pickle").read_bytes())
        entries += zip([one[0] for one in modules[module]], symbols, strict=True)
        environments |= constants
    return entries, environments, list(paths.values())


TASKS = []
"""What there is to compile, by room: told to processes before they are started."""


def compile_room(number):
    """Compile the modules of one room; return what it took."""
    lines = []
    for module, signatures, baseline, path in TASKS[number]:
        began = time.process_time()
        made = compile_module(signatures, baseline, path)
        for older in path.parent.glob(f"{module}-*"):
            if older.stem != path.stem:
                older.unlink()
        path.with_suffix(".pickle").write_bytes(pickle.dumps(made))
        lines.append(f"{time.process_time() - began:6.2f} s {module}\n")
    return "".join(lines)


def header(entries, environments):
    """Write the tables of kernels.c."""

    def quoted(content):
        return '"' + "".join(f"\\{byte:03o}" for byte in content) + '"'

    lines = [f"#define COUNT {len(entries)}", f"#define ENVIRONMENTS {len(environments)}"]
    for number, (_, symbol) in enumerate(entries):
        lines.append(
            f'extern PyObject *f{number}(PyObject *, PyObject *, PyObject *) __asm__("{symbol}");'
        )
    for number, symbol in enumerate(environments):
        lines.append(f'extern void *e{number} __asm__("{symbol}");')
    lines.append("static const entry_t entries[] = {")
    lines += [f"{{f{number}}}," for number in range(len(entries))]
    lines.append("};\nstatic const constants_t environments[] = {")
    for number, consts in enumerate(environments.values()):
        lines.append(f"{{&e{number}, {quoted(consts)}, {len(consts)}}},")
    lines.append("};\nstatic const char contents[] =")
    lines += [f'"{line}\\n"' for line, _ in entries]
    lines.append(";")
    return "\n".join(lines) + "\n"


def link(objects, folder, baseline, target):
    """Compile the C parts and link everything."""
    import numba
    import numpy as np

    home = Path(numba.__file__).parent
    include = [
        f"-I{folder}",
        f"-I{home}",
        f"-I{np.get_include()}",
        f"-I{sysconfig.get_path('include')}",
    ]
    options = [
        "-O2",
        "-fPIC",
        "-fvisibility=hidden",
        "-ffunction-sections",
        "-fdata-sections",
        f"-DBASELINE={baseline}",
    ]
    options += ["-DNPY_TARGET_VERSION=NPY_1_25_API_VERSION"]
    runtime = [HERE / "kernels.c", home / "core" / "runtime" / "nrt.cpp"]
    for source in runtime:
        made = folder / f"{source.stem}.o"
        subprocess.run(["gcc", *options, *include, "-c", source, "-o", made], check=True)
        objects.append(made)
    script = folder / "exported"
    script.write_text("{ global: PyInit__kernels; local: *; };")
    subprocess.run(
        [
            *("gcc", "-shared", "-o", target, *objects, f"-Wl,--version-script={script}"),
            *(
                "-Wl,--gc-sections",
                "-Wl,--wrap=hypot",
                "-Wl,-z,noexecstack",
                "-s",
                "-lm",
                "-pthread",
            ),
        ],
        check=True,
    )


def main():
    """Build."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--baseline", type=int, default=2, choices=(2, 3))
    parser.add_argument("--signatures", type=Path, default=HERE / "signatures.txt")
    parser.add_argument("--into", type=Path, default=HERE.parent / "src" / "sfumato")
    parser.add_argument("--name", action="store_true", help="print what the library is called")
    parser.add_argument("--kept", type=Path, default=HERE.parent / ".kernels")
    chosen = parser.parse_args()
    if chosen.name:
        print(EXTENSION)
        return
    if not shutil.which("gcc") or not Path(sysconfig.get_path("include"), "Python.h").exists():
        print(
            "Without gcc and Python's headers, numba compiles kernels when they are first called."
        )
        return
    os.environ |= {
        "NUMBA_CPU_NAME": f"x86-64-v{chosen.baseline}",
        "NUMBA_CPU_FEATURES": "",
        "SFUMATO_SHIPPED_KERNELS": "no",
    }
    lines = [line for line in chosen.signatures.read_text().splitlines() if line]
    kept = chosen.kept
    kept.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        os.environ["NUMBA_CACHE_DIR"] = str(folder / "cache")
        entries, environments, objects = compile_all(lines, kept, chosen.baseline)
        (folder / "entries.h").write_text(header(entries, environments))
        made = folder / EXTENSION
        link(objects, folder, chosen.baseline, made)
        chosen.into.mkdir(exist_ok=True, parents=True)
        target = chosen.into / EXTENSION
        target.with_suffix(".new").write_bytes(made.read_bytes())
        target.with_suffix(".new").replace(target)
    size = target.stat().st_size / 1e6
    print(f"{len(entries)} functions, {size:.1f} MB in {target}", file=sys.stderr)


if __name__ == "__main__":
    main()
