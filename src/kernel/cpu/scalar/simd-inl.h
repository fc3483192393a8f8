#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include <zllm/kernel/cpu/bfloat16.h>

// The contract between generic kernels (the *-inl.h of kernel/cpu) and an instruction set, here in
// portable code that any target's compiler turns into its smallest vectors.
namespace zllm::kernel::cpu::scalar {
namespace {

struct Simd {
  using Vec = float __attribute__((vector_size(16)));
  using IntVec = std::int32_t __attribute__((vector_size(16)));
  static constexpr std::size_t kLanes = 4;      // divides 16
  static constexpr std::size_t kTileRows = 4;   // query rows that share a loaded key or value
  static constexpr std::size_t kValueVecs = 2;  // vectors of one token's values held at once

  static Vec zero() { return Vec{}; }
  static Vec set(float value) { return Vec{value, value, value, value}; }
  static Vec load(const float *from) {
    Vec v;
    __builtin_memcpy(&v, from, sizeof(v));
    return v;
  }
  // Half precision, widened; a store rounds to the nearest even.
  static Vec load(const std::uint16_t *from) {
    return Vec{widen(from[0]), widen(from[1]), widen(from[2]), widen(from[3])};
  }
  static Vec load(const BFloat16 *from) {
    const IntVec bits = {from[0].bits, from[1].bits, from[2].bits, from[3].bits};
    return as_float(bits << 16);
  }
  // Lanes from count on are zero and their memory is not read; count <= kLanes.
  static Vec load_first(const float *from, std::size_t count) {
    Vec v{};
    __builtin_memcpy(&v, from, count * sizeof(float));
    return v;
  }
  static void store(float *to, Vec v) { __builtin_memcpy(to, &v, sizeof(v)); }
  static void store(std::uint16_t *to, Vec v) {
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      to[lane] = narrow(v[lane]);
    }
  }
  static void store_first(float *to, Vec v, std::size_t count) {
    __builtin_memcpy(to, &v, count * sizeof(float));
  }

  static Vec add(Vec a, Vec b) { return a + b; }
  static Vec subtract(Vec a, Vec b) { return a - b; }
  static Vec multiply(Vec a, Vec b) { return a * b; }
  static Vec divide(Vec a, Vec b) { return a / b; }
  // a * b + c, rounded once where the instruction set can.
  static Vec fma(Vec a, Vec b, Vec c) { return a * b + c; }
  // b where either is NaN.
  static Vec minimum(Vec a, Vec b) { return pick(a < b, a, b); }
  static Vec maximum(Vec a, Vec b) { return pick(a > b, a, b); }
  // To the nearest whole number, ties to even, for magnitudes below 2^22.
  static Vec round(Vec v) {
    const Vec shift = set(12582912.0F);
    return (v + shift) - shift;
  }
  // v * 2^power for whole powers from -252 to 254.
  static Vec scale_by_power(Vec v, Vec power) {
    const IntVec whole = __builtin_convertvector(power, IntVec);
    const IntVec half = whole >> 1;
    return v * power_of_two(half) * power_of_two(whole - half);
  }
  static Vec magnitude(Vec v) { return as_float(as_int(v) & 0x7FFFFFFF); }
  static Vec select_less(Vec a, Vec b, Vec yes, Vec no) { return pick(a < b, yes, no); }
  static Vec with_sign_of(Vec v, Vec sign) {
    return as_float((as_int(v) & 0x7FFFFFFF) | (as_int(sign) & INT32_MIN));
  }
  // Lanes [first, last) of v, `other` elsewhere.
  static Vec keep_lanes(Vec v, std::size_t first, std::size_t last, float other) {
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      v[lane] = lane >= first && lane < last ? v[lane] : other;
    }
    return v;
  }
  static float sum(Vec v) { return (v[0] + v[2]) + (v[1] + v[3]); }
  static float largest(Vec v) {
    const float a = v[0] > v[1] ? v[0] : v[1];
    const float b = v[2] > v[3] ? v[2] : v[3];
    return a > b ? a : b;
  }

 private:
  static IntVec as_int(Vec v) {
    IntVec bits;
    __builtin_memcpy(&bits, &v, sizeof(bits));
    return bits;
  }
  static Vec as_float(IntVec bits) {
    Vec v;
    __builtin_memcpy(&v, &bits, sizeof(v));
    return v;
  }
  static Vec pick(IntVec mask, Vec yes, Vec no) {
    return as_float((as_int(yes) & mask) | (as_int(no) & ~mask));
  }
  static Vec power_of_two(IntVec power) { return as_float((power + 127) << 23); }

  static float widen(std::uint16_t half) {
    const std::uint32_t sign = (half & 0x8000U) << 16;
    const std::uint32_t bits = half & 0x7FFFU;
    if (bits >= 0x7C00U) {
      const std::uint32_t quiet = bits > 0x7C00U ? 0x400000U : 0U;
      return std::bit_cast<float>(sign | 0x7F800000U | quiet | ((bits & 0x3FFU) << 13));
    }
    if (bits >= 0x400U) {
      return std::bit_cast<float>(sign | ((bits << 13) + 0x38000000U));
    }
    const float tiny = static_cast<float>(bits) * 0x1p-24F;
    return sign != 0 ? -tiny : tiny;
  }
  static std::uint16_t narrow(float value) {
    const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
    const std::uint32_t sign = (bits >> 16) & 0x8000U;
    const std::uint32_t rest = bits & 0x7FFFFFFFU;
    if (rest > 0x7F800000U) {
      return static_cast<std::uint16_t>(sign | 0x7E00U | ((rest >> 13) & 0x3FFU));
    }
    if (rest >= 0x47800000U) {
      return static_cast<std::uint16_t>(sign | 0x7C00U);
    }
    if (rest < 0x38800000U) {
      // Adding 0.5 leaves the half's bits, rounded, at the end of the sum.
      const float sum = std::bit_cast<float>(rest) + 0.5F;
      return static_cast<std::uint16_t>(sign | (std::bit_cast<std::uint32_t>(sum) & 0x7FFFU));
    }
    const std::uint32_t rounded = rest + 0xFFFU + ((rest >> 13) & 1U) - 0x38000000U;
    return static_cast<std::uint16_t>(sign | (rounded >> 13));
  }
};

}  // namespace
}  // namespace zllm::kernel::cpu::scalar
