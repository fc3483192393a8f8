#include <zllm/edge/call.h>

namespace zllm::edge {

Status to_status(std::int32_t code, const Bytes& message) {
  const auto as = [&](Code meaning) { return Error{meaning, std::string(message.view())}; };
  switch (code) {
    case EDGE_OK:
      return {};
    case EDGE_INVALID_ARGUMENT:
      return as(Code::invalid_argument);
    case EDGE_INVALID_FILE:
      return as(Code::invalid_file);
    case EDGE_NOT_FOUND:
      return as(Code::not_found);
    case EDGE_UNSUPPORTED:
      return as(Code::unsupported);
    case EDGE_RESOURCE_EXHAUSTED:
      return as(Code::resource_exhausted);
    default:
      return as(Code::internal);
  }
}

}  // namespace zllm::edge
