#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include <zllm/kv_cache/slot_table.h>
#include <zllm/runtime/any_model.h>
#include <zllm/runtime/paged_states.h>
#include <zllm/runtime/recurrent_states.h>
#include <zllm/runtime/toy_backend_test-inl.h>

// Models for tests of the engine; included by them alone.
namespace zllm::engine::hashed {

using PagedStates = runtime::PagedStates<runtime::toy::Backend>;
using RecurrentStates = runtime::RecurrentStates<runtime::toy::Backend>;

struct Sizes {
  std::uint32_t pages = 1000;  // of 4 rows
  std::uint32_t sequences = 32;
  std::uint64_t context = 256;
  std::uint32_t rows = 32;
  std::uint32_t vocabulary = 24;
};

// A model whose logits are a hash of all rows that the states really hold, so that a wrong row,
// fork or cut changes the answer.
template <class States>
class Model final : public runtime::AnyModel {
 public:
  static constexpr bool kIsRecurrent = std::is_same_v<States, RecurrentStates>;
  using Hook = std::function<Status(const runtime::Round&)>;

  explicit Model(Sizes sizes = {}) {
    info_.limits = {.vocabulary = sizes.vocabulary, .context = sizes.context, .rows = sizes.rows};
    info_.is_recurrent = kIsRecurrent;
    info_.sequences = kIsRecurrent ? sizes.sequences : 0;
    const backend::PagedCacheSpec pages{.planes = {}, .pages = sizes.pages};
    auto page_cache = std::move(*backend_.paged_cache(pages));
    if constexpr (kIsRecurrent) {
      const backend::SlotCacheSpec slots{.planes = {},
                                         .slots = kv_cache::slots_for(sizes.sequences)};
      states_ = std::make_unique<States>(backend_,
                                         runtime::RecurrentStore<runtime::toy::Backend>{
                                             .pages = std::move(page_cache),
                                             .page_spec = pages,
                                             .slots = std::move(*backend_.slot_cache(slots)),
                                             .slot_spec = slots,
                                             .sequences = sizes.sequences},
                                         sizes.context);
    } else {
      states_ = std::make_unique<States>(backend_, std::move(page_cache), pages, sizes.context);
    }
  }

  const runtime::ModelInfo& info() const override { return info_; }
  runtime::SequenceStates& states() override { return *states_; }

  Result<runtime::RoundOutput> submit(const runtime::Round& round) override {
    ZLLM_TRY(runtime::validate(round, info_.limits));
    if (before_round) {
      ZLLM_TRY(before_round(round));
    }
    ZLLM_TRY(states_->reserve(round));
    runtime::RoundOutput output{.vocabulary = info_.limits.vocabulary, .logits = {}};
    ZLLM_TRY(const auto pages, states_->segments(round));
    for (std::size_t i = 0; i < round.segments.size(); ++i) {
      backend_.store(states_->cache(), pages[i], round.segments[i].tokens);
      std::uint64_t hash = 0;
      if constexpr (kIsRecurrent) {
        const auto slots = std::move(*states_->slot_segments(round));
        hash = slots[i].from ? states_->slots().slots[slots[i].from->value()].hash : 0;
        backend_.recur(states_->slots(), slots[i], round.segments[i].tokens);
      }
      append_logits(round.segments[i], pages[i], hash, output.logits);
    }
    return output;
  }

  Hook before_round;  // an error fails the round

 private:
  void append_logits(const runtime::Segment& segment, const backend::PagedSegment& pages,
                     std::uint64_t recurrent, std::vector<float>& logits) {
    const auto& cache = states_->cache();
    std::uint64_t hash = 7;
    std::size_t wanted = 0;
    for (std::uint64_t at = 0; at < segment.start + segment.tokens.size(); ++at) {
      constexpr auto kPage = runtime::toy::Backend::kPageTokens;
      hash = runtime::toy::chain(hash, cache.pages[pages.pages[at / kPage].value()][at % kPage]);
      if (at < segment.start) {
        continue;
      }
      recurrent = runtime::toy::chain(recurrent, segment.tokens[at - segment.start]);
      if (wanted < segment.logit_rows.size() && at == segment.start + segment.logit_rows[wanted]) {
        ++wanted;
        append_row(kIsRecurrent ? hash ^ (recurrent * 31) : hash, logits);
      }
    }
  }

  void append_row(std::uint64_t hash, std::vector<float>& logits) const {
    for (std::uint32_t token = 0; token < info_.limits.vocabulary; ++token) {
      std::uint64_t mixed = (hash + token) * 0x9E3779B97F4A7C15U;
      mixed = (mixed ^ (mixed >> 29)) * 0xBF58476D1CE4E5B9U;
      logits.push_back(static_cast<float>(mixed >> 40) * 0x1p-22F);
    }
  }

  runtime::toy::Backend backend_;
  runtime::ModelInfo info_;
  std::unique_ptr<States> states_;
};

using PagedModel = Model<PagedStates>;
using RecurrentModel = Model<RecurrentStates>;

}  // namespace zllm::engine::hashed
