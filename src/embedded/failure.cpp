#include <zllm/embedded/failure.h>

namespace zllm {
namespace {

FailureKind kind_of(Code code) {
  switch (code) {
    case Code::invalid_argument:
      return FailureKind::invalid;
    case Code::not_found:
      return FailureKind::not_found;
    case Code::unsupported:
      return FailureKind::unsupported;
    case Code::resource_exhausted:
      return FailureKind::out_of_memory;
    case Code::invalid_file:
    case Code::io:
    case Code::cancelled:
    case Code::internal:
      break;
  }
  return FailureKind::internal;
}

}  // namespace

Failure Failure::from(const Error& error, std::string field) {
  return {kind_of(error.code), error.message, std::move(field)};
}

}  // namespace zllm
