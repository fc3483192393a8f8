#pragma once

#include <concepts>
#include <cstdint>
#include <optional>

// Overflow-safe arithmetic for sizes and offsets that come from a file or a request.
namespace zllm {

template <std::integral T>
constexpr std::optional<T> checked_add(T a, T b) {
  T sum{};
  if (__builtin_add_overflow(a, b, &sum)) {
    return std::nullopt;
  }
  return sum;
}

template <std::integral T>
constexpr std::optional<T> checked_multiply(T a, T b) {
  T product{};
  if (__builtin_mul_overflow(a, b, &product)) {
    return std::nullopt;
  }
  return product;
}

// The value as T, or nothing when T cannot hold it.
template <std::integral T, std::integral From>
constexpr std::optional<T> checked_cast(From value) {
  const T narrowed = static_cast<T>(value);
  if (static_cast<From>(narrowed) != value || (narrowed < T{}) != (value < From{})) {
    return std::nullopt;
  }
  return narrowed;
}

}  // namespace zllm
