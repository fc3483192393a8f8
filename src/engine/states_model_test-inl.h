#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <type_traits>
#include <vector>

#include <zllm/engine/prefix_cache.h>
#include <zllm/runtime/any_model.h>
#include <zllm/runtime/paged_states.h>
#include <zllm/runtime/recurrent_states.h>
#include <zllm/runtime/toy_backend_test-inl.h>

// A model of states alone, for tests of what keeps them: pages hold the tokens themselves, slots
// their hash.
namespace zllm::engine::bare {

namespace toy = runtime::toy;
using Tokens = std::vector<TokenId>;
using Paged = runtime::PagedStates<toy::Backend>;
using Recurrent = runtime::RecurrentStates<toy::Backend>;

constexpr std::uint64_t kContext = 4096;

struct Sizes {
  std::uint32_t pages = 1024;
  std::uint32_t sequences = 8;
};

template <class States>
class Model final : public runtime::AnyModel {
 public:
  static constexpr bool kIsRecurrent = std::is_same_v<States, Recurrent>;

  explicit Model(Sizes sizes = {}) {
    info_.limits = {.vocabulary = 16, .context = kContext, .rows = 512};
    info_.is_recurrent = kIsRecurrent;
    info_.sequences = kIsRecurrent ? sizes.sequences : 0;
    const backend::PagedCacheSpec pages{.planes = {}, .pages = sizes.pages};
    if constexpr (kIsRecurrent) {
      const backend::SlotCacheSpec slots{.planes = {},
                                         .slots = kv_cache::slots_for(sizes.sequences)};
      states_ = std::make_unique<States>(
          backend_,
          runtime::RecurrentStore<toy::Backend>{.pages = std::move(*backend_.paged_cache(pages)),
                                                .page_spec = pages,
                                                .slots = std::move(*backend_.slot_cache(slots)),
                                                .slot_spec = slots,
                                                .sequences = sizes.sequences},
          kContext);
    } else {
      states_ = std::make_unique<States>(backend_, std::move(*backend_.paged_cache(pages)), pages,
                                         kContext);
    }
  }

  const runtime::ModelInfo& info() const override { return info_; }
  runtime::SequenceStates& states() override { return *states_; }

  Result<runtime::RoundOutput> submit(const runtime::Round& round) override {
    ZLLM_TRY(states_->reserve(round));
    ZLLM_TRY(const auto pages, states_->segments(round));
    for (std::size_t i = 0; i < pages.size(); ++i) {
      backend_.store(states_->cache(), pages[i], round.segments[i].tokens);
    }
    if constexpr (kIsRecurrent) {
      ZLLM_TRY(const auto slots, states_->slot_segments(round));
      for (std::size_t i = 0; i < slots.size(); ++i) {
        backend_.recur(states_->slots(), slots[i], round.segments[i].tokens);
      }
    }
    return runtime::RoundOutput{.vocabulary = info_.limits.vocabulary, .logits = {}};
  }

  Status append(SequenceId id, std::span<const TokenId> tokens) {
    if (tokens.empty()) {
      return {};
    }
    ZLLM_TRY(const std::uint64_t start, states_->rows(id));
    ZLLM_TRY(submit(runtime::Round{.segments = {{.sequence = id,
                                                 .start = start,
                                                 .kind = runtime::SegmentKind::append_prefill,
                                                 .tokens = {tokens.begin(), tokens.end()},
                                                 .logit_rows = {}}}}));
    return states_->commit(id, tokens.size());
  }

  // A sequence that a cache does not know.
  SequenceId computed(std::span<const TokenId> tokens, std::uint64_t expected_rows = 0) {
    const auto id = states_->create(expected_rows);
    EXPECT_TRUE(id.ok());
    EXPECT_TRUE(append(*id, tokens).ok());
    return *id;
  }

  // Whether the sequence's state is that after exactly these tokens.
  void expect_state(SequenceId id, std::span<const TokenId> tokens) {
    const auto snapshot = states_->export_state(id);
    ASSERT_TRUE(snapshot.ok()) << snapshot.error().message;
    ASSERT_EQ(snapshot->rows, tokens.size());
    std::uint64_t hash = 0;
    for (std::size_t row = 0; row < tokens.size(); ++row) {
      TokenId kept = 0;
      std::memcpy(&kept, snapshot->bytes.data() + row * sizeof(TokenId), sizeof(TokenId));
      ASSERT_EQ(kept, tokens[row]) << "row " << row;
      hash = toy::chain(hash, tokens[row]);
    }
    if (kIsRecurrent && !tokens.empty()) {
      std::uint64_t kept = 0;
      std::memcpy(&kept, snapshot->bytes.data() + snapshot->bytes.size() - sizeof(kept),
                  sizeof(kept));
      ASSERT_EQ(kept, hash);
    }
  }

  runtime::ModelInfo& mutable_info() { return info_; }

 private:
  runtime::ModelInfo info_;
  toy::Backend backend_;
  std::unique_ptr<States> states_;
};

inline Tokens counted(TokenId first, std::size_t count) {
  Tokens tokens(count);
  for (std::size_t i = 0; i < count; ++i) {
    tokens[i] = first + static_cast<TokenId>(i);
  }
  return tokens;
}

inline Tokens joined(Tokens tokens, std::span<const TokenId> more) {
  tokens.insert(tokens.end(), more.begin(), more.end());
  return tokens;
}

inline std::unique_ptr<PrefixCache> cache_of(runtime::AnyModel& model,
                                             PrefixCacheOptions options = {}) {
  auto cache = PrefixCache::create(model, std::move(options));
  EXPECT_TRUE(cache.ok()) << cache.error().message;
  return *std::move(cache);
}

}  // namespace zllm::engine::bare
