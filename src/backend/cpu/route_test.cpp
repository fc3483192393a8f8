#include <cmath>
#include <vector>

#include <gtest/gtest.h>

#include <zllm/backend/cpu/backend_fixture-inl.h>
#include <zllm/moe/routing.h>

namespace zllm::backend::cpu {
namespace {

const moe::RouterSpec kSoftmax = {.experts = 33, .top_k = 4};
const moe::RouterSpec kGrouped = {.experts = 32,
                                  .top_k = 6,
                                  .groups = 4,
                                  .kept_groups = 2,
                                  .scoring = moe::Scoring::sigmoid,
                                  .has_selection_bias = true,
                                  .scaling = 2.5F};

TEST(Route, IsTheReferenceForAnyNumberOfRows) {
  for (const moe::RouterSpec& spec : {kSoftmax, kGrouped}) {
    const auto bias = noise(spec.experts, 1, 0.1F);
    for (const unsigned threads : {1U, 3U}) {
      const auto backend = make_backend(Isa::avx512, threads);
      const Weight biases = vector_of(*backend, bias);
      moe::Routing routing = backend->routing(100, spec).value();
      for (const std::size_t rows : {100U, 1U, 9U}) {  // shrinks and grows
        const auto logits = noise(rows * spec.experts, 2);
        const Tensor tensor = tensor_of(*backend, logits, spec.experts);
        ASSERT_TRUE(
            backend->route(spec, tensor, spec.has_selection_bias ? &biases : nullptr, routing)
                .ok());
        const auto expected = moe::route(
            spec, logits, spec.has_selection_bias ? std::span(bias) : std::span<const float>());
        EXPECT_EQ(routing.rows(), rows);
        EXPECT_EQ(routing.experts, expected->experts);
        EXPECT_TRUE(same_bits(routing.weights, expected->weights));
      }
    }
  }
}

TEST(Route, PassesErrorsOn) {
  const auto backend = make_backend(Isa::avx512, 2);
  moe::Routing routing = backend->routing(60, kSoftmax).value();
  auto logits = noise(60 * kSoftmax.experts, 2);
  logits[std::size_t{57} * kSoftmax.experts + 3] = std::nanf("");
  const Tensor tensor = tensor_of(*backend, logits, kSoftmax.experts);
  const Status status = backend->route(kSoftmax, tensor, nullptr, routing);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().message, moe::route(kSoftmax, logits, {}).error().message);
  EXPECT_NE(status.error().message.find("57"), std::string::npos) << status.error().message;
  EXPECT_FALSE(backend->routing(1, {.experts = 4, .top_k = 5}).ok());
}

TEST(Supports, RefusesExpertsAsItRefusesProducts) {
  using encoding::Encoding;
  const auto backend = make_backend(Isa::scalar, 1);
  for (std::size_t i = 0; i < encoding::kEncodingCount; ++i) {
    const auto encoding = static_cast<Encoding>(i);
    for (const std::uint64_t columns : {32U, 48U, 256U}) {
      const bool works =
          backend->supports({.op = Op::linear, .encoding = encoding, .columns = columns})
              .is_supported;
      for (const Op op : {Op::experts, Op::latent_up}) {
        const Support support =
            backend->supports({.op = op, .encoding = encoding, .columns = columns});
        EXPECT_EQ(support.is_supported, works);
        EXPECT_TRUE(works || support.reason.find(name(op)) != std::string::npos) << support.reason;
      }
    }
    const bool is_float = encoding == Encoding::f32 || encoding == Encoding::f16;
    for (const Op op : {Op::paged_gqa, Op::latent_attention, Op::select_keys, Op::select_pools}) {
      EXPECT_EQ(backend->supports({.op = op, .encoding = encoding, .columns = 64}).is_supported,
                is_float);
    }
  }
}

}  // namespace
}  // namespace zllm::backend::cpu
