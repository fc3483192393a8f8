#include <zllm/embedded/c/struct_copy.h>

#include <span>

#include <zllm/base/utf8.h>
#include <zllm/dialect/dialect.h>

namespace zllm::c {
namespace {

constexpr int kBadRequest = 400;

void put(std::string_view text, std::span<char> to) {
  std::string_view part = text.substr(0, to.size() - 1);
  if (part.size() < text.size()) {
    part.remove_suffix(utf8_incomplete_suffix(part));
  }
  std::ranges::copy(part, to.begin());
}

zllm_status tell(zllm_status code, int http_status, std::string_view message,
                 std::string_view field, zllm_error *error) {
  if (error != nullptr) {
    zllm_error told{};
    told.code = code;
    told.http_status = http_status;
    put(field, told.field);
    put(message, told.message);
    give(told, error);
  }
  return code;
}

}  // namespace

zllm_status code_of(FailureKind kind) {
  switch (kind) {
    case FailureKind::invalid:
      return ZLLM_ERROR_INVALID;
    case FailureKind::too_long:
      return ZLLM_ERROR_TOO_LONG;
    case FailureKind::unsupported:
      return ZLLM_ERROR_UNSUPPORTED;
    case FailureKind::not_found:
      return ZLLM_ERROR_NOT_FOUND;
    case FailureKind::busy:
      return ZLLM_ERROR_BUSY;
    case FailureKind::loading:
      return ZLLM_ERROR_LOADING;
    case FailureKind::deadline:
      return ZLLM_ERROR_DEADLINE;
    case FailureKind::shut_down:
      return ZLLM_ERROR_SHUT_DOWN;
    case FailureKind::out_of_memory:
      return ZLLM_ERROR_OUT_OF_MEMORY;
    case FailureKind::internal:
      break;
  }
  return ZLLM_ERROR_INTERNAL;
}

zllm_status tell(const Failure& failure, zllm_error *error) {
  return tell(code_of(failure.kind), dialect::http_status(failure.kind), failure.message,
              failure.field, error);
}

zllm_status tell(zllm_status code, std::string_view message, std::string_view field,
                 zllm_error *error) {
  return tell(code, kBadRequest, message, field, error);
}

}  // namespace zllm::c
