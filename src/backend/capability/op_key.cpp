#include <zllm/backend/capability/op_key.h>

namespace zllm::backend {

std::string_view name(Op op) {
  switch (op) {
    case Op::embed:
      return "embed";
    case Op::linear:
      return "linear";
    case Op::norm:
      return "norm";
    case Op::rotate:
      return "rotate";
    case Op::paged_gqa:
      return "paged_gqa";
    case Op::gated_activation:
      return "gated_activation";
  }
  ZLLM_CHECK(false, "an Op outside its enumeration");
}

}  // namespace zllm::backend
