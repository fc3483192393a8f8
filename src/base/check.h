#pragma once

// ZLLM_CHECK(condition, "what was broken"): a broken invariant of zllm itself. It logs to stderr
// and aborts in every build. Bad input is never a broken invariant: it is an Error (result.h).
namespace zllm::internal {
[[noreturn]] void check_failed(const char *condition, const char *message, const char *file,
                               int line);
}  // namespace zllm::internal

#define ZLLM_CHECK(condition, message)                                         \
  do {                                                                         \
    if (!(condition)) [[unlikely]] {                                           \
      ::zllm::internal::check_failed(#condition, message, __FILE__, __LINE__); \
    }                                                                          \
  } while (false)
