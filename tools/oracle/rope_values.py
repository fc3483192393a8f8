"""Prints the expected values of src/rope/exact_test.cpp, computed with 60 digits by mpmath.

Formulas: the RoPE scalings of transformers 5 and the YaRN, LongRoPE and Llama 3 papers, written
down here independently of src/rope.
"""

from mpmath import ceil, cos, floor, log, mp, mpf, nstr, pi, power, sin, sqrt

mp.dps = 60


def base(theta, width):
    return [power(mpf(theta), -mpf(2 * i) / width) for i in range(width // 2)]


def dynamic(theta, width, factor, maximum, length):
    length = max(length, maximum)
    stretch = mpf(factor) * length / maximum - (mpf(factor) - 1)
    return base(mpf(theta) * power(stretch, mpf(width) / (width - 2)), width)


def llama3(theta, width, factor, low, high, original):
    result = []
    for f in base(theta, width):
        wave = 2 * pi / f
        if wave < mpf(original) / high:
            result.append(f)
        elif wave > mpf(original) / low:
            result.append(f / factor)
        else:
            smooth = (original / wave - low) / (mpf(high) - low)
            result.append((1 - smooth) * f / factor + smooth * f)
    return result


def yarn(theta, width, factor, original, fast=32, slow=1, truncate=True):
    def dimension(turns):
        return width * log(original / (turns * 2 * pi)) / (2 * log(mpf(theta)))

    low, high = dimension(fast), dimension(slow)
    if truncate:
        low, high = floor(low), ceil(high)
    low, high = max(low, mpf(0)), min(high, mpf(width - 1))
    if low == high:
        high += mpf("0.001")
    result = []
    for i, f in enumerate(base(theta, width)):
        ramp = min(max((i - low) / (high - low), mpf(0)), mpf(1))
        result.append(f / factor * ramp + f * (1 - ramp))
    return result


def magnitude(factor, k=1):
    return mpf(1) if factor <= 1 else mpf("0.1") * mpf(k) * log(mpf(factor)) + 1


def longrope(theta, width, factors):
    return [f / mpf(e) for f, e in zip(base(theta, width), factors)]


def show(name, frequencies, amplitude=mpf(1)):
    print(f"{name}: amplitude {nstr(amplitude, 18)}")
    print("    {" + ", ".join(nstr(f, 18) for f in frequencies) + "}")


def turns(name, frequencies, position):
    angles = [position * f for f in frequencies]
    print(f"{name} at {position}")
    print("    cos {" + ", ".join(nstr(cos(a), 18) for a in angles) + "}")
    print("    sin {" + ", ".join(nstr(sin(a), 18) for a in angles) + "}")


show("none 10000/8", base(10000, 8))
show("linear 10000/8 by 4", [f / 4 for f in base(10000, 8)])
show("dynamic 10000/8 by 2 M 64 L 100", dynamic(10000, 8, 2, 64, 100))
show("llama3 500000/16 by 8 of 8192", llama3(500000, 16, 8, 1, 4, 8192))
show("llama3 50000/16 by 4 of 32", llama3(50000, 16, 4, 1, 4, 32))
show("yarn 10000/16 by 4 of 2048", yarn(10000, 16, 4, 2048), magnitude(4))
show("yarn 150000/16 by 32 of 4096 whole", yarn(150000, 16, 32, 4096, truncate=False), magnitude(32))
show("yarn mscale 40 0.5/2", [], magnitude(40, "0.5") / magnitude(40, 2))
show("yarn 10000/8 by 4 of 4 (equal corrections)", yarn(10000, 8, 4, 4, fast=1, slow=1), magnitude(4))
SHORT, LONG = ["1", "1.5", "2", "3"], ["1.25", "4", "16", "64"]
amplitude = sqrt(1 + log(mpf(32)) / log(mpf(4096)))
show("longrope short", longrope(10000, 8, SHORT), amplitude)
show("longrope long", longrope(10000, 8, LONG), amplitude)
turns("none 10000/8", base(10000, 8), 1000000)
turns("none 500000/16", base(500000, 16), 1000000)
turns("none 10000/8", base(10000, 8), 2**32)
turns("llama3 500000/16", llama3(500000, 16, 8, 1, 4, 8192), 1000000)
