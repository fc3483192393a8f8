#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <string_view>

#include <zllm/embedded/c/zllm.h>
#include <zllm/embedded/failure.h>

// Structs of callers that were compiled against an older or newer header.
namespace zllm::c {

// The caller's fields, zero where it has none of them yet.
template <class T>
T taken(const T *given) {
  T whole{};
  if (given != nullptr) {
    std::memcpy(&whole, given, std::min(given->size, sizeof(T)));
  }
  whole.size = sizeof(T);
  return whole;
}

// Fills what the caller has of the struct; its size stays.
template <class T>
void give(const T& whole, T *to) {
  constexpr std::size_t kFirst = sizeof(to->size);
  const std::size_t size = std::min(to->size, sizeof(T));
  if (size > kFirst) {
    std::memcpy(reinterpret_cast<std::byte *>(to) + kFirst,
                reinterpret_cast<const std::byte *>(&whole) + kFirst, size - kFirst);
  }
}

zllm_status code_of(FailureKind kind);
// Tells the failure, where the caller wants it, and returns its code.
zllm_status tell(const Failure& failure, zllm_error *error);
zllm_status tell(zllm_status code, std::string_view message, std::string_view field,
                 zllm_error *error);

}  // namespace zllm::c
