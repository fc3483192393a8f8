"""Writes test/fixtures/encoding/<NAME>.bin: blocks of each format and what gguf decodes them to.

Layout, little endian:
  u64 blocks, u64 random_blocks, u64 seed, u64 checksum
  the blocks: random codes with the scales random, zero, negative, subnormal and largest, and
  largest and smallest codes
  f32 elements of those blocks
The checksum is over the elements of random_blocks blocks whose bytes, scales too, are all random:
they cover every codebook entry, infinities and NaN. decode_test.cpp makes the same bytes from the
seed.

Run from the repository root: python3 tools/oracle/encoding_vectors.py
"""

import importlib.metadata
import pathlib
import struct

import gguf
import gguf.quants
import numpy

GGUF_VERSION = "0.19.0"
OUTPUT = pathlib.Path("test/fixtures/encoding")
RANDOM_BLOCKS = 2048

# Where the f16 scales of a block lie. IQ1_M spreads its over nibbles, MXFP4 has an exponent.
SCALES = {
    "F32": [],
    "F16": [],
    "BF16": [],
    "Q4_0": [0],
    "Q4_1": [0, 2],
    "Q5_0": [0],
    "Q5_1": [0, 2],
    "Q8_0": [0],
    "Q2_K": [80, 82],
    "Q3_K": [108],
    "Q4_K": [0, 2],
    "Q5_K": [0, 2],
    "Q6_K": [208],
    "IQ4_NL": [0],
    "IQ4_XS": [0],
    "IQ3_S": [0],
    "IQ3_XXS": [0],
    "IQ2_S": [0],
    "IQ2_XS": [0],
    "IQ2_XXS": [0],
    "IQ1_S": [0],
    "IQ1_M": [],
    "TQ1_0": [52],
    "TQ2_0": [64],
    "MXFP4": [],
}

GOLDEN = 0x9E3779B97F4A7C15


def random_words(seed, count):
    """The SplitMix64 sequence."""
    with numpy.errstate(over="ignore"):
        z = numpy.uint64(seed) + numpy.arange(1, count + 1, dtype=numpy.uint64) * numpy.uint64(GOLDEN)
        z = (z ^ (z >> numpy.uint64(30))) * numpy.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> numpy.uint64(27))) * numpy.uint64(0x94D049BB133111EB)
        return z ^ (z >> numpy.uint64(31))


def random_bytes(seed, count):
    return random_words(seed, (count + 7) // 8).view(numpy.uint8)[:count]


def checksum(elements):
    bits = elements.view(numpy.uint32).astype(numpy.uint64)
    bits[numpy.isnan(elements)] = 0x7FC00000
    odd = numpy.arange(elements.size, dtype=numpy.uint64) * numpy.uint64(2) + numpy.uint64(1)
    weights = odd * numpy.uint64(GOLDEN)
    return int((bits * weights).sum(dtype=numpy.uint64))


# Blocks of random codes, but for the two with the largest and the smallest codes.
#                   largest smallest zero  negative  subnormal largest
HALVES = [0.0123, -1.5e-3, 0.25, 0.25, 0.0, -0.0123, 6e-6, 65504.0]
MXFP4_EXPONENTS = [120, 127, 124, 254, 0, 1, 2, 255]


def put_half(name, block, index, value):
    """Makes scale `index` of the block the f16 of the value."""
    half = numpy.float16(value).view(numpy.uint16)
    if name == "IQ1_M":
        nibbles = half >> numpy.array([0, 4, 8, 12], dtype=numpy.uint16) & 15
        scales = block[48:56].view(numpy.uint16)
        scales[:] = (scales & 0x0FFF) | nibbles << 12
    else:
        offset = SCALES[name][index]
        block[offset : offset + 2].view(numpy.uint16)[:] = half


def special_blocks(name, size, seed):
    blocks = random_bytes(seed, len(HALVES) * size).reshape(-1, size).copy()
    blocks[2] = 0xFF
    blocks[3] = 0
    if name == "MXFP4":
        blocks[:, 0] = MXFP4_EXPONENTS
        return blocks
    for block, value in zip(blocks, HALVES):
        put_half(name, block, 0, value)
        if len(SCALES[name]) == 2:
            put_half(name, block, 1, value * 0.75)
    return blocks


def plain_blocks(size, seed):
    """Floating-point elements: random bits, zeros, infinities, subnormals."""
    blocks = random_bytes(seed, 512 * size).reshape(512, size).copy()
    patterns = {2: [0, 1, 0x8000, 0x7C00, 0xFC00, 0x7F80, 0xFF80, 0x03FF, 0x7BFF, 0x007F],
                4: [0, 1, 0x80000000, 0x7F800000, 0xFF800000, 0x007FFFFF, 0x7F7FFFFF]}[size]
    dtype = {2: numpy.uint16, 4: numpy.uint32}[size]
    blocks.view(dtype)[: len(patterns), 0] = patterns
    return blocks


def main():
    found = importlib.metadata.version("gguf")
    assert found == GGUF_VERSION, f"needs gguf {GGUF_VERSION}, found {found}"
    OUTPUT.mkdir(parents=True, exist_ok=True)
    for seed, name in enumerate(SCALES):
        kind = gguf.GGMLQuantizationType[name]
        elements, size = gguf.GGML_QUANT_SIZES[kind]
        if elements == 1:
            blocks = plain_blocks(size, seed)
        else:
            blocks = special_blocks(name, size, seed)
        decoded = decode(blocks, kind)
        many_seed = 1000 + seed
        many = decode(random_bytes(many_seed, RANDOM_BLOCKS * size).reshape(-1, size), kind)
        assert many.size == RANDOM_BLOCKS * elements
        head = struct.pack("<4Q", len(blocks), RANDOM_BLOCKS, many_seed, checksum(many))
        (OUTPUT / f"{name}.bin").write_bytes(head + blocks.tobytes() + decoded.tobytes())


def decode(blocks, kind):
    with numpy.errstate(all="ignore"):
        return gguf.quants.dequantize(blocks, kind).astype("<f4").ravel()


if __name__ == "__main__":
    main()
