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
    case Op::layer_norm:
      return "layer_norm";
    case Op::latent_attention:
      return "latent_attention";
    case Op::latent_up:
      return "latent_up";
    case Op::select_keys:
      return "select_keys";
    case Op::select_pools:
      return "select_pools";
    case Op::delta_rule:
      return "delta_rule";
    case Op::gated_norm:
      return "gated_norm";
    case Op::hyper_connection:
      return "hyper_connection";
    case Op::route:
      return "route";
    case Op::experts:
      return "experts";
  }
  ZLLM_CHECK(false, "an Op outside its enumeration");
}

bool has_encoding(Op op) {
  switch (op) {
    case Op::embed:
    case Op::linear:
    case Op::paged_gqa:
    case Op::latent_attention:
    case Op::latent_up:
    case Op::select_keys:
    case Op::select_pools:
    case Op::experts:
      return true;
    case Op::norm:
    case Op::rotate:
    case Op::gated_activation:
    case Op::layer_norm:
    case Op::delta_rule:
    case Op::gated_norm:
    case Op::hyper_connection:
    case Op::route:
      return false;
  }
  ZLLM_CHECK(false, "an Op outside its enumeration");
}

}  // namespace zllm::backend
