#pragma once

#include <memory>
#include <string>
#include <utility>

#include <zllm/base/text.h>
#include <zllm/conformance/attention_run-inl.h>
#include <zllm/conformance/dense_run-inl.h>
#include <zllm/conformance/expert_run-inl.h>
#include <zllm/conformance/selection_run-inl.h>
#include <zllm/conformance/state_run-inl.h>
#include <zllm/conformance/subject.h>

namespace zllm::conformance {

// Whether the backend's type offers the operation at all.
template <backend::Backend B>
constexpr bool has_capability(backend::Op op) {
  using backend::Op;
  switch (op) {
    case Op::embed:
    case Op::linear:
    case Op::norm:
    case Op::gated_activation:
      return true;
    case Op::rotate:
      return backend::RotaryBackend<B>;
    case Op::paged_gqa:
      return backend::GqaBackend<B>;
    case Op::latent_attention:
    case Op::latent_up:
      return backend::MlaBackend<B>;
    case Op::layer_norm:
    case Op::select_keys:
      return backend::DsaBackend<B>;
    case Op::select_pools:
      return backend::KpoolBackend<B>;
    case Op::delta_rule:
    case Op::gated_norm:
      return backend::DeltaRuleBackend<B>;
    case Op::hyper_connection:
      return backend::HyperConnectionBackend<B>;
    case Op::route:
    case Op::experts:
      return backend::MoeBackend<B>;
  }
  return false;
}

template <backend::Backend B>
class SubjectOf : public Subject {
 public:
  SubjectOf(std::unique_ptr<B> backend, std::string instruction_set)
      : backend_(std::move(backend)), instruction_set_(std::move(instruction_set)) {}

  std::string_view backend() const override { return backend_->name(); }
  std::string_view instruction_set() const override { return instruction_set_; }

  backend::Support supports(const backend::OpKey& key) const override {
    if (!has_capability<B>(key.op)) {
      return backend::Support::no(concat(name(key.op), " is no capability of ", backend()));
    }
    return backend_->supports(key);
  }

  Result<Deviation> run(const Case& one) override {
    return std::visit(
        [&](const auto& dimensions) -> Result<Deviation> {
          if constexpr (requires { conformance::run(*backend_, one, dimensions); }) {
            if (needs_selection(dimensions) && !backend::DsaBackend<B>) {
              return Error{Code::unsupported, "attention over a selection is no capability"};
            }
            return conformance::run(*backend_, one, dimensions);
          } else {
            return Error{Code::unsupported, concat(name(one.op), " is no capability")};
          }
        },
        one.dimensions);
  }

 private:
  static bool needs_selection(const LatentCase& latent) { return latent.selected != 0; }
  static bool needs_selection(const auto&) { return false; }

  std::unique_ptr<B> backend_;
  std::string instruction_set_;
};

}  // namespace zllm::conformance
