"""Problems of physics, chemistry and university mathematics, whose answers are lists of texts with a newline, in the
manner of Minerva: numbers to some figures, powers of ten, formulas."""

from __future__ import annotations

import math

from gem.rng import SplitMix64, choice, randint
from tools.samples.problem import Made


def _figures(value: float, figures: int = 3) -> str:
    """Rounded, as a plain number where that is short, else with a power of ten."""
    exponent = math.floor(math.log10(abs(value)))
    rounded = round(value, figures - 1 - exponent)
    if -3 <= exponent <= 4:
        return f"{rounded:.{max(0, figures - 1 - exponent)}f}"
    return f"{value / 10**exponent:.{figures - 1}f} \\times 10^{{{exponent}}}"


def _listed(value: float, figures: int = 3) -> list[str]:
    return [_figures(value, figures) + "\n"]


def photon(rng: SplitMix64) -> Made:
    wavelength = randint(rng, 40, 900) * 10
    return Made(
        f"What is the energy of a photon with a wavelength of ${wavelength}$ Angstroms, in electron volts? Use "
        "$hc = 12398$ eV Angstrom, and give three significant figures.",
        _listed(12398 / wavelength),
    )


def free_fall(rng: SplitMix64) -> Made:
    height = randint(rng, 5, 120)
    return Made(
        f"A stone falls from rest through ${height}$ m, without air. How fast is it then, in m/s? Use $g = "
        "9.81$ m/s$^2$ "
        "and three significant figures.",
        _listed(math.sqrt(2 * 9.81 * height)),
    )


def pendulum(rng: SplitMix64) -> Made:
    length = randint(rng, 10, 300) / 100
    return Made(
        f"Find the period of small swings of a pendulum of length ${length}$ m, in seconds, to three "
        "significant figures. "
        "Use $g = 9.81$ m/s$^2$.",
        _listed(2 * math.pi * math.sqrt(length / 9.81)),
    )


def ideal_gas(rng: SplitMix64) -> Made:
    moles, kelvin, litres = randint(rng, 2, 9), randint(rng, 250, 420), randint(rng, 5, 60)
    return Made(
        f"${moles}$ mol of an ideal gas fill ${litres}$ litres at ${kelvin}$ K. What is the pressure in kPa? Use "
        "$R = 8.314$ J/(mol K) and three significant figures.",
        _listed(moles * 8.314 * kelvin / litres),
    )


def half_life(rng: SplitMix64) -> Made:
    half, time = randint(rng, 3, 40), randint(rng, 5, 90)
    return Made(
        f"An isotope has a half-life of ${half}$ days. Which fraction of it is left after ${time}$ days? Give three "
        "significant figures.",
        _listed(0.5 ** (time / half)),
    )


def acidity(rng: SplitMix64) -> Made:
    concentration = randint(rng, 11, 99)
    return Made(
        f"Find the pH of a solution with $[H^+] = {concentration / 10} \\times 10^{{-5}}$ mol per litre, to three "
        "significant figures.",
        _listed(5 - math.log10(concentration / 10)),
    )


def luminosity(rng: SplitMix64) -> Made:
    kelvin, radius = randint(rng, 30, 120) * 100, randint(rng, 2, 20)
    area = 4 * math.pi * (radius * 6.96e8) ** 2
    return Made(
        f"A star has a surface of ${kelvin}$ K and ${radius}$ times the Sun's radius of $6.96 \\times 10^8$ m. "
        "Find its "
        "luminosity in watts, as a black body, with $\\sigma = 5.67 \\times 10^{-8}$ W m$^{-2}$ K$^{-4}$, to two "
        "significant figures.",
        _listed(5.67e-8 * area * kelvin**4, 2),
    )


def capacitor(rng: SplitMix64) -> Made:
    farads, volts = randint(rng, 10, 900), randint(rng, 5, 240)
    return Made(
        f"A capacitor of ${farads}$ microfarads is charged to ${volts}$ V. How much energy does it hold, in "
        "joules? Give "
        "three significant figures.",
        _listed(0.5 * farads * 1e-6 * volts**2),
    )


def decay_solution(rng: SplitMix64) -> Made:
    rate, start = randint(rng, 2, 9), randint(rng, 2, 30)
    answer = f"{start} e^{{-{rate} t}}"
    return Made(
        f"Solve $y' + {rate}y = 0$ with $y(0) = {start}$. Give $y$ as a function of $t$.", [answer, f"y = {answer}\n"]
    )


def antiderivative(rng: SplitMix64) -> Made:
    a, n = randint(rng, 2, 9), randint(rng, 2, 6)
    return Made(
        f"What is the derivative of ${a}x^{{{n}}} \\sin x$ with respect to $x$?",
        [f"{a * n}x^{{{n - 1}}} \\sin x + {a}x^{{{n}}} \\cos x\n"],
    )


def thin_lens(rng: SplitMix64) -> Made:
    focus = randint(rng, 5, 30)
    distance = focus + randint(rng, 3, 60)
    return Made(
        f"An object stands ${distance}$ cm before a thin lens with a focal length of ${focus}$ cm. How far "
        "behind the lens "
        "is the image, in cm? Give three significant figures.",
        _listed(1 / (1 / focus - 1 / distance)),
    )


def snell(rng: SplitMix64) -> Made:
    index, angle = choice(rng, (1.33, 1.46, 1.52, 1.62)), randint(rng, 20, 75)
    inside = math.degrees(math.asin(math.sin(math.radians(angle)) / index))
    return Made(
        f"Light enters glass of refractive index ${index}$ from air at an angle of incidence of "
        f"${angle}^\\circ$. What is the "
        "angle of refraction in degrees, to three significant figures?",
        [f"{_figures(inside)}^\\circ\n", f"{_figures(inside)}^{{\\circ}}\n"],
    )


ALL = (
    photon, free_fall, pendulum, ideal_gas, half_life, acidity, luminosity, capacitor, decay_solution, antiderivative,
    thin_lens, snell,
)  # fmt: skip
