#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <zllm/base/text.h>
#include <zllm/engine/prefix_cache.h>

#include "model_test.h"

// Answers that start from a cached prefix.
namespace zllm::test {
namespace {

using engine::kAnchorRows;
using engine::PrefixCache;
using runtime::AnyModel;

constexpr std::size_t kTokens = kAnchorRows + 36;
constexpr std::size_t kShared = kAnchorRows + 16;  // of two requests

class PrefixTest : public ModelTest {
 protected:
  PrefixTest() : loaded_(load_fixture(fixture_)) {
    for (std::size_t row = 0; row < kTokens; ++row) {
      question_.push_back(fixture_.prompt[row % length()]);
    }
    other_ = question_;
    std::rotate(other_.begin() + kShared, other_.begin() + kShared + 1, other_.end());
    other_[kShared] = wrong_token(kShared % length());
  }

  AnyModel& model() { return loaded_.model(); }

  static std::unique_ptr<PrefixCache> cache_of(AnyModel& model,
                                               const engine::PrefixCacheOptions& options = {}) {
    auto cache = PrefixCache::create(model, options);
    EXPECT_TRUE(cache.ok());
    return *std::move(cache);
  }

  // How many rows of the tokens are reused by a request whose logits are the cold ones.
  std::size_t reused(AnyModel& model, PrefixCache& cache, const std::vector<TokenId>& tokens) {
    const auto cached = cache.acquire(tokens, tokens.size() - 1, kTokens);
    EXPECT_TRUE(cached.ok());
    const Logits warm = finish(model, cache, tokens, *cached);
    const auto cold = model.states().create(kTokens);
    const Logits all = prefill(model, *cold, tokens);
    EXPECT_TRUE(model.states().release(*cold).ok());
    expect_same_bits(warm, rows(all, cached->rows, tokens.size() - cached->rows), "warm and cold");
    return cached->rows;
  }

  // As a loop does it: recurrent states are kept at anchors.
  static Logits finish(AnyModel& model, PrefixCache& cache, std::span<const TokenId> tokens,
                       const engine::CachedPrefix& cached) {
    Logits logits;
    std::size_t done = cached.rows;
    while (done < tokens.size()) {
      const std::size_t end =
          std::min<std::size_t>(engine::anchor_before(done) + kAnchorRows, tokens.size());
      const Logits chunk = prefill(model, cached.sequence, tokens.subspan(done, end - done));
      logits.insert(logits.end(), chunk.begin(), chunk.end());
      done = end;
      if (is_recurrent(model) && engine::anchor_before(done) == done) {
        EXPECT_TRUE(cache.keep_copy(cached.sequence, tokens.first(done)).ok());
      }
    }
    EXPECT_TRUE(cache.keep(cached.sequence, tokens).ok());
    return logits;
  }

  std::size_t expected_rows(std::size_t shared) {
    return is_recurrent(model()) ? engine::anchor_before(shared) : shared;
  }

  registry::Model loaded_;
  std::vector<TokenId> question_;
  std::vector<TokenId> other_;
};

TEST_P(PrefixTest, AWarmAnswerIsTheColdOne) {
  const std::uint64_t room = model().states().free_rows();
  const auto cache = cache_of(model());
  EXPECT_EQ(reused(model(), *cache, question_), 0U);
  EXPECT_EQ(reused(model(), *cache, question_), expected_rows(kTokens - 1));
  EXPECT_EQ(reused(model(), *cache, other_), expected_rows(kShared));
  EXPECT_EQ(reused(model(), *cache, question_), expected_rows(kTokens - 1));
  EXPECT_GT(cache->statistics().bytes, 0U);
  cache->clear();
  EXPECT_EQ(model().states().free_rows(), room);
}

// The second turn of a conversation: the first answer was decoded row by row.
TEST_P(PrefixTest, AConversationGoesOnFromADecodedAnswer) {
  const auto cache = cache_of(model());
  const std::span<const TokenId> prompt = std::span(question_).first(kShared);
  const auto cached = cache->acquire(prompt, prompt.size() - 1, kTokens);
  ASSERT_TRUE(cached.ok());
  const auto anchor = prompt.first(kAnchorRows);
  prefill(model(), cached->sequence, anchor);
  if (is_recurrent(model())) {
    ASSERT_TRUE(cache->keep_copy(cached->sequence, anchor).ok());
  }
  prefill(model(), cached->sequence, prompt.subspan(kAnchorRows));
  decode(model(), cached->sequence, std::span(question_).subspan(kShared, 10));
  ASSERT_TRUE(cache->keep(cached->sequence, std::span(question_).first(kShared + 10)).ok());
  EXPECT_EQ(reused(model(), *cache, question_), expected_rows(kShared + 10));
}

TEST_P(PrefixTest, AStateFromDiskGivesTheColdAnswerInAnotherModel) {
  const std::string folder =
      concat(testing::TempDir(), "zllm_prefix_", ::getpid(), "_", fixture_suffix({GetParam(), 0}));
  std::filesystem::remove_all(folder);
  const engine::PrefixCacheOptions options{.disk_folder = folder, .model_identity = GetParam()};
  {
    const auto cache = cache_of(model(), options);
    EXPECT_EQ(reused(model(), *cache, question_), 0U);
  }
  registry::Model other = load_fixture(fixture_);
  const auto cache = cache_of(other.model(), options);
  EXPECT_EQ(reused(other.model(), *cache, other_), expected_rows(kShared));
  EXPECT_EQ(cache->statistics().disk_hits, 1U);
  std::filesystem::remove_all(folder);
}

// dynamic and longrope scaling turn rows by the announced length.
TEST_P(PrefixTest, LengthsThatTurnRowsOtherwiseShareNone) {
  const auto cache = cache_of(model());
  reused(model(), *cache, question_);
  const auto longer = cache->acquire(question_, kTokens - 1, kTokens + 1);
  ASSERT_TRUE(longer.ok());
  const bool is_dynamic = GetParam() == "llama-dynamic";
  EXPECT_EQ(longer->rows, is_dynamic ? 0U : expected_rows(kTokens - 1));
  const auto shorter = cache->acquire(question_, kTokens - 1, 8);
  ASSERT_TRUE(shorter.ok());
  EXPECT_EQ(shorter->rows,
            is_dynamic || GetParam() == "llama-longrope" ? 0U : expected_rows(kTokens - 1));
}

INSTANTIATE_TEST_SUITE_P(Fixtures, PrefixTest, testing::ValuesIn(model_fixture_names()),
                         fixture_suffix);

}  // namespace
}  // namespace zllm::test
