#include <zllm/dialect/dialect.h>

#include <zllm/base/check.h>

namespace zllm::dialect {

int http_status(FailureKind kind) {
  switch (kind) {
    case FailureKind::invalid:
    case FailureKind::too_long:
    case FailureKind::unsupported:
      return 400;
    case FailureKind::not_found:
      return 404;
    case FailureKind::busy:
      return 429;
    case FailureKind::internal:
      return 500;
    case FailureKind::loading:
    case FailureKind::shut_down:
    case FailureKind::out_of_memory:
      return 503;
    case FailureKind::deadline:
      return 504;
  }
  ZLLM_CHECK(false, "a failure of no kind");
}

}  // namespace zllm::dialect
