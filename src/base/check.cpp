#include <zllm/base/check.h>

#include <cstdio>
#include <cstdlib>

namespace zllm::internal {

void check_failed(const char *condition, const char *message, const char *file, int line) {
  std::fprintf(stderr, "zllm: broken invariant at %s:%d: %s (%s)\n", file, line, message,
               condition);
  std::abort();
}

}  // namespace zllm::internal
