"""Prints the expected values of src/attention/delta_rule/values_test.cpp and of
src/residual/hyper_connection_test.cpp, computed with 50 digits by mpmath.

The delta rule is written as one matrix a row, M <- (I - beta k k^T) diag(exp g) M + beta k v^T
(Kimi Linear, arXiv:2510.26692, equation 1), and the Sinkhorn iteration as products of diagonal
matrices, so that neither follows the order of operations of the C++ code. Inputs are fractions that
f32 holds exactly.
"""

from mpmath import diag, exp, eye, log, matrix, mp, mpf, nstr, sqrt

mp.dps = 50


def fraction(index, factor, offset):
    """Repeats every 13 indices, in eighths from -0.75 to 0.75."""
    return mpf((index * factor + offset) % 13 - 6) / 8


def sigmoid(x):
    return 1 / (1 + exp(-x))


def unit(lanes, scale):
    norm = sqrt(sum(x * x for x in lanes) + mpf("1e-6"))
    return [x / norm * scale for x in lanes]


def delta_rule(per_channel, bounded):
    key_heads, value_heads, keys, values, taps, rows = 1, 2, 2, 3, 3, 4
    channels = 2 * key_heads * keys + value_heads * values
    decays = value_heads * (keys if per_channel else 1)
    tap = [[fraction(c * taps + j, 5, 2) for j in range(taps)] for c in range(channels)]
    u = [[4 * fraction(r * channels + c, 7, 1) for c in range(channels)] for r in range(rows)]
    rate = [exp(fraction(h, 3, 9)) for h in range(value_heads)]
    states = [matrix(keys, values) for _ in range(value_heads)]
    result = []
    for r in range(rows):
        y = []
        for c in range(channels):
            seen = [(tap[c][j], r - taps + 1 + j) for j in range(taps)]
            total = sum(w * u[t][c] for w, t in seen if t >= 0)
            y.append(total * sigmoid(total))
        q = matrix(unit(y[:keys], 1 / sqrt(mpf(keys))))
        k = matrix(unit(y[keys : 2 * keys], 1))
        for h in range(value_heads):
            v = matrix(y[2 * keys + h * values : 2 * keys + (h + 1) * values])
            factors = []
            for d in range(keys):
                element = h * keys + d if per_channel else h
                x = 2 * fraction(r * decays + element, 4, 3) + fraction(element, 6, 5)
                g = -5 * sigmoid(rate[h] * x) if bounded else -rate[h] * log(1 + exp(x))
                factors.append(exp(g))
            beta = sigmoid(4 * fraction(r * value_heads + h, 8, 4))
            states[h] = (eye(keys) - beta * k * k.T) * diag(factors) * states[h] + beta * k * v.T
            result += list(states[h].T * q)
    return result


def hyper_connection(streams, width, iterations):
    size, mixes = streams * width, (2 + streams) * streams
    x = [4 * fraction(i, 5, 1) for i in range(size)]
    norm = sqrt(sum(v * v for v in x) / size + mpf("1e-5"))
    scale = [mpf(1) / 2, mpf(-3) / 4, mpf(5) / 4]
    m = [
        sum(fraction(i * size + j, 7, 2) * x[j] / norm for j in range(size))
        * scale[min(i // streams, 2)]
        + fraction(i, 3, 4)
        for i in range(mixes)
    ]
    eps = mpf("1e-6")
    before = [sigmoid(v) + eps for v in m[:streams]]
    after = [2 * sigmoid(v) for v in m[streams : 2 * streams]]
    n = range(streams)
    e = [[exp(m[(2 + a) * streams + b]) for b in n] for a in n]
    c = matrix([[e[a][b] / sum(e[a]) + eps for b in n] for a in n])
    for i in range(iterations):
        if i > 0:
            c = diag([1 / (sum(c[a, b] for b in n) + eps) for a in n]) * c
        c = c * diag([1 / (sum(c[a, b] for a in n) + eps) for b in n])
    own = matrix([[x[k * width + d] for d in range(width)] for k in n])
    y = matrix([[fraction(d, 2, 9) for d in range(width)]])
    merged = matrix(after) * y + c.T * own
    return list(matrix(before).T * own), after, list(c), list(merged)


def show(name, values):
    print(name, "{" + ", ".join(nstr(v, 12) for v in values) + "}")


show("delta rule, a decay a channel, bounded", delta_rule(True, True))
show("delta rule, a decay a channel, softplus", delta_rule(True, False))
show("delta rule, a decay a head, softplus", delta_rule(False, False))
for part, values in zip(("input", "after", "combine", "merged"), hyper_connection(3, 2, 4)):
    show("hyper-connection, " + part, values)
