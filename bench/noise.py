"""Noise beside the rivals: samples per CPU second, in one run on this machine.

    python bench/noise.py

One vector of a million samples per scale; the rivals that make one value per call are looped. CPU
time of one thread, best of several. The share of random bits is the time that AES-CTR needs for
the words a sample consumes, divided by the time of the whole sample: the limit for any sampler.
"""

from __future__ import annotations

import os

os.environ.setdefault("NUMBA_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import time
from fractions import Fraction
from functools import partial

import numpy as np

import sfumato as sf
from rivals import ask, python_with
from sfumato.dp import noise
from sfumato.dp.noise import gaussian as gaussian_module
from sfumato.dp.noise import laplace as laplace_module

MILLION = 1_000_000
SCALES = (1, 10, 1000, 10**6)
GOALS = {"laplace": 150, "gaussian": 100}  # times OpenDP
EXACT_RIVALS = {("PyDP", "laplace")}
GOAL_FLOATS = 40e6  # values per second of whole mechanisms
GOAL_WIDE = 1.0  # times numpy's float Gaussian, at scales of 1,000 and more
GOAL_NUMPY = 3  # numpy's float Laplace at most this many times faster


def cpu_seconds(call, repeats=5):
    call()
    times = []
    for _ in range(repeats):
        start = time.process_time()
        call()
        times.append(time.process_time() - start)
    return min(times)


def rate(call, count=MILLION, repeats=5):
    return count / cpu_seconds(call, repeats)


def opendp_rate(kind, scale):
    import opendp.prelude as dp

    dp.enable_features("contrib")
    count = 20_000
    if kind == "laplace":
        space = dp.vector_domain(dp.atom_domain(T=int)), dp.l1_distance(T=int)
        measurement = dp.m.make_laplace(*space, scale=float(scale))
    else:
        space = dp.vector_domain(dp.atom_domain(T=int)), dp.l2_distance(T=float)
        measurement = dp.m.make_gaussian(*space, scale=float(scale))
    zeros = [0] * count
    return rate(partial(measurement, zeros), count, repeats=2)


def words_per_sample(kind, scale):
    if kind == "laplace":
        return 1 + len(laplace_module._plan(Fraction(scale)).digits)  # noqa: SLF001 - counted, not used
    plan = gaussian_module._plan(Fraction(scale) ** 2, discrete=kind == "discrete")  # noqa: SLF001 - counted
    return 1 if plan.discrete and plan.power == 0 else 2


def bits_share(words, samples_per_second):
    def draw():
        for _ in range(0, MILLION, 1 << 14):
            for _ in range(words):
                noise.stream().uint64(1 << 14)

    return cpu_seconds(draw, 3) * samples_per_second / MILLION


def row(name, per_second, *, base=None, plain=None, bits=None, exact="yes"):
    cells = [
        f"{name:<44}",
        f"{per_second / 1e6:>9.3f} M/s",
        f"{per_second / base:>9.1f} ×" if base else " " * 11,
        f"{per_second / plain:>8.2f} ×" if plain else " " * 10,
        f"{bits:>7.0%}" if bits is not None else " " * 7,
        f"  {exact}",
    ]
    print(" ".join(cells))


def table(kind, samplers, numpy_call, rivals):
    print(
        f"\n{kind.upper():<44} {'samples':>13} {'× OpenDP':>11} {'× numpy':>10} {'bits':>7}   exact"
    )
    plain = rate(numpy_call)
    row("numpy PCG64, float: no privacy", plain, plain=plain, exact="no")
    worst = {}
    for scale in SCALES:
        base = opendp_rate(kind, scale)
        row(f"OpenDP, scale {scale:g}", base, base=base, plain=plain)
        for name, sampler, words in samplers:
            ours = rate(partial(sampler, scale, MILLION))
            share = bits_share(words_per_sample(words, scale), ours)
            row(f"sfumato {name}, scale {scale:g}", ours, base=base, plain=plain, bits=share)
            old = worst.get(name, (float("inf"), float("inf")))
            worst[name] = (min(old[0], ours / base), min(old[1], ours / plain))
            if kind == "gaussian" and scale >= 1000:
                word = "reached" if ours >= GOAL_WIDE * plain else "NOT REACHED"
                print(f"goal: at numpy's speed: {ours / plain:.2f} ×, {word}")
    for name, answer in rivals.items():
        if isinstance(answer, dict):
            exact = "yes" if (name, kind) in EXACT_RIVALS else "no"
            row(f"{name}, one value per call", answer[kind], plain=plain, exact=exact)
        else:
            print(f"{name:<44} {answer}")
    return worst


def verdicts(kind, worst):
    for name, (against_opendp, against_numpy) in worst.items():
        word = "reached" if against_opendp >= GOALS[kind] else "NOT REACHED"
        print(f"goal: {name} at least {GOALS[kind]} × OpenDP: {against_opendp:.0f} ×, {word}")
        if kind == "laplace":
            word = "reached" if against_numpy * GOAL_NUMPY >= 1 else "NOT REACHED"
            print(f"goal: {name} within {GOAL_NUMPY} × of numpy: {1 / against_numpy:.2f} ×, {word}")


def selections():
    scores = np.random.default_rng(1).normal(size=MILLION) * 10
    print("\nSELECTION among a million candidates: CPU seconds per release")
    for kind in (sf.dp.Exponential, sf.dp.PermuteAndFlip, sf.dp.ReportNoisyMax):
        mechanism = kind(sensitivity=1, epsilon=1)
        print(f"{kind.__name__:<44} {cpu_seconds(partial(mechanism.release, scores), 3):>9.3f} s")


def mechanisms():
    zeros = np.zeros(MILLION)
    print("\nWHOLE MECHANISMS on a million floats, grid and rounding included")
    for name, mechanism in (
        ("sf.dp.laplace", sf.dp.Laplace(sensitivity=1, epsilon=1)),
        ("sf.dp.gaussian", sf.dp.Gaussian(sensitivity=1, epsilon=1, delta=1e-6)),
    ):
        ours = rate(partial(mechanism.release, zeros))
        row(name, ours)
        word = "reached" if ours >= GOAL_FLOATS else "NOT REACHED"
        print(f"goal: {GOAL_FLOATS / 1e6:.0f} M/s: {ours / 1e6:.0f} M/s, {word}")
    counts = np.zeros(MILLION, dtype=np.int64)
    row("sf.dp.geometric", rate(partial(sf.dp.Geometric(sensitivity=1, epsilon=1).release, counts)))


def main():
    random = np.random.default_rng(1)
    rivals = {
        "diffprivlib": ask(
            python_with("diffprivlib", "diffprivlib", "scikit-learn<1.6"), "diffprivlib_noise.py"
        ),
        "PyDP": ask(python_with("pydp", "python-dp"), "pydp_noise.py"),
    }
    laplace = [("discrete Laplace", noise.discrete_laplace, "laplace")]
    worst = table("laplace", laplace, partial(random.laplace, 0, 1, MILLION), rivals)
    verdicts("laplace", worst)
    gauss = [
        (
            "discrete Gaussian",
            lambda s, n: noise.discrete_gaussian(Fraction(s) ** 2, n),
            "discrete",
        ),
        ("rounded Gaussian", lambda s, n: noise.rounded_gaussian(Fraction(s) ** 2, n), "rounded"),
    ]
    worst = table("gaussian", gauss, partial(random.normal, 0, 1, MILLION), rivals)
    verdicts("gaussian", worst)
    mechanisms()
    selections()


if __name__ == "__main__":
    main()
