#include <zllm/conformance/case.h>

namespace zllm::conformance {
namespace {

template <class... Functions>
struct Overloaded : Functions... {
  using Functions::operator()...;
};

struct Shape {
  std::uint64_t rows = 0;
  std::uint64_t columns = 0;
};

Shape latent_shape(const LatentCase& latent, backend::Op op) {
  if (op == backend::Op::latent_attention) {
    return {latent.spec.heads, std::uint64_t{latent.spec.latent} + latent.spec.rope};
  }
  return latent.is_fused
             ? Shape{std::uint64_t{latent.spec.heads} *
                         (std::uint64_t{latent.spec.nope} + latent.spec.value),
                     latent.spec.latent}
             : Shape{std::uint64_t{latent.spec.heads} * latent.spec.latent, latent.spec.nope};
}

}  // namespace

backend::OpKey key(const Case& one) {
  const Shape shape = std::visit(
      Overloaded{
          [](const EmbedCase& embed) { return Shape{embed.vocabulary, embed.columns}; },
          [](const LinearCase& linear) { return Shape{linear.outputs, linear.columns}; },
          [](const NormCase& norm) { return Shape{0, norm.columns}; },
          [](const RotateCase& rotate) { return Shape{0, rotate.spec.head}; },
          [](const ActivationCase& activation) { return Shape{0, activation.columns}; },
          [](const GqaCase& gqa) { return Shape{gqa.spec.query_heads, gqa.spec.head}; },
          [&](const LatentCase& latent) { return latent_shape(latent, one.op); },
          [](const SelectKeysCase& select) { return Shape{select.spec.heads, select.spec.width}; },
          [](const SelectPoolsCase& select) {
            return Shape{select.spec.indexer.heads, select.spec.indexer.width};
          },
          [](const DeltaRuleCase& delta) {
            return Shape{delta.spec.value_heads, delta.spec.value_width};
          },
          [](const HyperConnectionCase& streams) {
            return Shape{streams.spec.streams, streams.columns};
          },
          [](const RouteCase& route) { return Shape{route.spec.experts, 0}; },
          [](const ExpertsCase& experts) { return Shape{experts.intermediate, experts.columns}; }},
      one.dimensions);
  return {.op = one.op, .encoding = one.encoding, .rows = shape.rows, .columns = shape.columns};
}

}  // namespace zllm::conformance
