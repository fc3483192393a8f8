#include <zllm/base/result.h>

namespace zllm {

std::string_view name(Code code) {
  switch (code) {
    case Code::invalid_argument:
      return "invalid_argument";
    case Code::invalid_file:
      return "invalid_file";
    case Code::not_found:
      return "not_found";
    case Code::unsupported:
      return "unsupported";
    case Code::resource_exhausted:
      return "resource_exhausted";
    case Code::io:
      return "io";
    case Code::cancelled:
      return "cancelled";
    case Code::internal:
      return "internal";
  }
  ZLLM_CHECK(false, "a Code outside its enumeration");
}

Error Error::within(std::string_view where) && {
  std::string joined(where);
  joined += ": ";
  joined += message;
  return Error{code, std::move(joined)};
}

}  // namespace zllm
