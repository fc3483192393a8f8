#include <gtest/gtest.h>

#include <random>
#include <vector>

#include <zllm/engine/prefix_cache.h>
#include <zllm/engine/states_model_test-inl.h>

namespace zllm::engine {
namespace {

using bare::cache_of;
using bare::counted;
using bare::joined;
using bare::Tokens;
using PagedModel = bare::Model<bare::Paged>;
using RecurrentModel = bare::Model<bare::Recurrent>;

constexpr std::uint64_t kPage = runtime::toy::Backend::kPageTokens;
constexpr std::uint64_t kPageBytes = runtime::toy::Backend::kPageBytes;
constexpr std::uint64_t kAll = bare::kContext;

template <class Model>
class Bench {
 public:
  explicit Bench(PrefixCacheOptions options = {}, bare::Sizes sizes = {})
      : model(sizes), start_(model.states().free_rows()), cache(cache_of(model, options)) {}
  ~Bench() {
    cache->clear();
    EXPECT_EQ(cache->statistics().bytes, 0u);
    EXPECT_EQ(model.states().free_rows(), start_);
  }

  CachedPrefix acquire(const Tokens& tokens, std::uint64_t most = kAll, std::uint64_t rows = 0) {
    const auto found = cache->acquire(tokens, most, rows);
    EXPECT_TRUE(found.ok());
    return *found;
  }
  // How much of the tokens the cache has; nothing stays behind.
  std::uint64_t cached(const Tokens& tokens, std::uint64_t rows = 0) {
    const CachedPrefix found = acquire(tokens, kAll, rows);
    model.expect_state(found.sequence, std::span(tokens).first(found.rows));
    release(found.sequence);
    return found.rows;
  }
  void keep(const Tokens& tokens) { ASSERT_TRUE(cache->keep(model.computed(tokens), tokens).ok()); }
  void release(SequenceId id) { ASSERT_TRUE(model.states().release(id).ok()); }
  std::uint64_t entries() const { return cache->statistics().entries; }
  std::uint64_t bytes() const { return cache->statistics().bytes; }

  Model model;

 private:
  std::uint64_t start_;

 public:
  std::unique_ptr<PrefixCache> cache;
};

using PagedBench = Bench<PagedModel>;
using RecurrentBench = Bench<RecurrentModel>;

TEST(PrefixCache, AHitIsWhatIsSharedAndNeverMoreThanAsked) {
  PagedBench bench;
  const Tokens kept = counted(1, 10);
  bench.keep(kept);
  EXPECT_EQ(bench.cached(kept), 10u);
  EXPECT_EQ(bench.acquire(kept, 9).rows, 9u);
  EXPECT_EQ(bench.cached(joined(counted(1, 7), Tokens{50, 51})), 7u);
  EXPECT_EQ(bench.cached(Tokens{2, 3}), 0u);
  EXPECT_EQ(bench.acquire(kept, 0).rows, 0u);
  EXPECT_EQ(bench.cache->statistics().hits, 3u);
  EXPECT_EQ(bench.cache->statistics().misses, 1u);
  bench.release(SequenceId(3));
  bench.release(SequenceId(6));
}

TEST(PrefixCache, WhoeverGoesOnFromAHitChangesNoEntry) {
  PagedBench bench;
  const Tokens kept = counted(1, 10);
  bench.keep(kept);
  const CachedPrefix found = bench.acquire(joined(counted(1, 6), Tokens{70}));
  ASSERT_TRUE(bench.model.append(found.sequence, Tokens{70, 71, 72}).ok());
  EXPECT_EQ(bench.cached(kept), 10u);
  ASSERT_TRUE(bench.cache->keep(found.sequence, joined(counted(1, 6), Tokens{70, 71, 72})).ok());
  EXPECT_EQ(bench.cached(kept), 10u);
  EXPECT_EQ(bench.cached(joined(counted(1, 6), Tokens{70, 71, 72, 73})), 9u);
  EXPECT_EQ(bench.entries(), 2u);
  EXPECT_EQ(bench.bytes(), 5 * kPageBytes);  // one page of the second is the first's
}

TEST(PrefixCache, ALongerEntryReplacesItsPrefixAndAPrefixAddsNothing) {
  PagedBench bench;
  bench.keep(counted(1, 6));
  bench.keep(counted(1, 12));
  EXPECT_EQ(bench.entries(), 1u);
  bench.keep(counted(1, 9));
  EXPECT_EQ(bench.entries(), 1u);
  EXPECT_EQ(bench.bytes(), 3 * kPageBytes);
  EXPECT_EQ(bench.cached(counted(1, 20)), 12u);
}

TEST(PrefixCache, APrefixThatWasComputedTwiceIsHeldOnce) {
  PagedBench bench;
  const Tokens system = counted(1, 8 * kPage);
  bench.keep(joined(system, Tokens{90}));
  bench.keep(joined(system, Tokens{91}));
  EXPECT_EQ(bench.entries(), 2u);
  EXPECT_EQ(bench.bytes(), 10 * kPageBytes);
  EXPECT_EQ(bench.cached(joined(system, Tokens{91})), system.size() + 1);
}

TEST(PrefixCache, ACopyLeavesTheSequenceToItsOwner) {
  PagedBench bench;
  const Tokens tokens = counted(1, 10);
  const SequenceId running = bench.model.computed(tokens);
  ASSERT_TRUE(bench.cache->keep_copy(running, tokens).ok());
  EXPECT_EQ(bench.bytes(), 0u);  // eviction would free nothing yet
  EXPECT_FALSE(bench.cache->keep_copy(running, counted(1, 9)).ok());
  ASSERT_TRUE(bench.model.append(running, Tokens{99}).ok());
  bench.model.expect_state(running, joined(tokens, Tokens{99}));
  bench.release(running);
  EXPECT_EQ(bench.bytes(), 3 * kPageBytes);
  EXPECT_EQ(bench.cached(tokens), 10u);
}

TEST(PrefixCache, LengthsWithOtherRotaryTablesShareNothing) {
  PagedBench bench;
  rope::Spec rotary;
  rotary.max_positions = 100;
  rotary.scaling = rope::Scaling::dynamic;
  bench.model.mutable_info().rotary = rotary;
  const Tokens tokens = counted(1, 10);
  ASSERT_TRUE(bench.cache->keep(bench.model.computed(tokens, 50), tokens).ok());
  EXPECT_EQ(bench.cached(tokens, 80), 10u);
  EXPECT_EQ(bench.cached(tokens, 200), 0u);
  EXPECT_EQ(bench.cached(tokens, 0), 0u);  // the context
  ASSERT_TRUE(bench.cache->keep(bench.model.computed(tokens, 200), tokens).ok());
  EXPECT_EQ(bench.cached(tokens, 200), 10u);
  EXPECT_EQ(bench.cached(tokens, 201), 0u);
  EXPECT_EQ(bench.entries(), 2u);
}

TEST(PrefixCache, RoomIsMadeByTheLeastRecentThatFreesAny) {
  PagedBench bench({}, {.pages = 10});
  const Tokens first = counted(100, 3 * kPage);
  const Tokens second = counted(200, 3 * kPage);
  const Tokens third = counted(300, 3 * kPage);
  bench.keep(first);
  bench.keep(second);
  bench.keep(third);
  EXPECT_EQ(bench.cached(second), second.size());
  const CachedPrefix running = bench.acquire(first);
  bench.cached(second);
  EXPECT_TRUE(bench.cache->make_room(kPage));
  EXPECT_EQ(bench.entries(), 3u);
  EXPECT_TRUE(bench.cache->make_room(2 * kPage));
  EXPECT_EQ(bench.cached(third), 0u);
  EXPECT_EQ(bench.cached(second), second.size());
  EXPECT_FALSE(bench.cache->make_room(8 * kPage));
  EXPECT_EQ(bench.entries(), 1u);  // the running sequence holds its pages as well
  bench.release(running.sequence);
  EXPECT_TRUE(bench.cache->make_room(10 * kPage));
  EXPECT_FALSE(bench.cache->evict_one());
  EXPECT_EQ(bench.cache->statistics().evictions, 3u);
}

TEST(PrefixCache, OfAStateBeyondTheCapAPartIsKept) {
  PagedBench bench({.bytes = 4 * kPageBytes});
  bench.keep(counted(500, 3));
  const Tokens tokens = counted(1, 100);
  bench.keep(tokens);
  EXPECT_LE(bench.bytes(), 4 * kPageBytes);
  EXPECT_GE(bench.cached(tokens), 3 * kPage);
}

TEST(PrefixCache, SwitchedOffItOnlyMakesSequences) {
  PagedBench bench({.is_enabled = false});
  const Tokens tokens = counted(1, 10);
  const SequenceId running = bench.model.computed(tokens);
  EXPECT_TRUE(bench.cache->keep_copy(running, tokens).ok());
  EXPECT_TRUE(bench.cache->keep(running, tokens).ok());
  EXPECT_EQ(bench.cached(tokens), 0u);
  EXPECT_EQ(bench.entries(), 0u);
}

// Answers as a loop computes them: chunks end at anchors, where recurrent states are kept.
template <class Model>
class Answers {
 public:
  Answers(Bench<Model>& bench, std::uint32_t seed) : bench_(bench), random_(seed) {}

  // Prompts of a few words of many tokens each, so that they often start alike.
  Tokens draw() {
    Tokens tokens;
    for (std::uint64_t words = 1 + below(6); words != 0; --words) {
      const auto word = static_cast<TokenId>(1000 * below(2));
      tokens = joined(std::move(tokens), counted(word, 30 + 41 * below(2)));
    }
    return tokens;
  }

  // Gives false where the model had no room.
  bool start() {
    const Tokens tokens = draw();
    const auto found = bench_.cache->acquire(tokens, tokens.size() - 1, 0);
    if (!found.ok()) {
      EXPECT_EQ(found.error().code, Code::resource_exhausted);
      return false;
    }
    bench_.model.expect_state(found->sequence, std::span(tokens).first(found->rows));
    std::uint64_t rows = found->rows;
    EXPECT_TRUE(!Model::kIsRecurrent || anchor_before(rows) == rows);
    while (rows < tokens.size()) {
      const std::uint64_t end =
          std::min<std::uint64_t>(tokens.size(), anchor_before(rows) + kAnchorRows);
      if (!bench_.cache->make_room(end - rows + kPage)) {
        bench_.release(found->sequence);
        return false;
      }
      const auto chunk = std::span(tokens).subspan(rows, end - rows);
      EXPECT_TRUE(bench_.model.append(found->sequence, chunk).ok());
      rows = end;
      if (Model::kIsRecurrent && anchor_before(rows) == rows) {
        const auto done = std::span(tokens).first(rows);
        EXPECT_TRUE(bench_.cache->keep_copy(found->sequence, done).ok());
      }
    }
    running.push_back({.id = found->sequence, .tokens = tokens});
    return true;
  }

  void end() {
    const auto chosen = running.begin() + static_cast<std::ptrdiff_t>(below(running.size()));
    bench_.model.expect_state(chosen->id, chosen->tokens);
    if (below(4) == 0) {
      bench_.release(chosen->id);
    } else {
      EXPECT_TRUE(bench_.cache->keep(chosen->id, chosen->tokens).ok());
    }
    running.erase(chosen);
  }

  std::uint64_t below(std::uint64_t bound) { return random_() % bound; }

  struct Running {
    SequenceId id;
    Tokens tokens;
  };
  std::vector<Running> running;

 private:
  Bench<Model>& bench_;
  std::mt19937 random_;
};

template <class Model>
class EveryModel : public testing::Test {};
using Models = testing::Types<PagedModel, RecurrentModel>;
TYPED_TEST_SUITE(EveryModel, Models);

TYPED_TEST(EveryModel, RandomAnswersStayRightWithinTheCapAndLeakNothing) {
  constexpr std::uint64_t kCap = 200 * kPageBytes;
  std::uint64_t hits = 0;
  std::uint64_t most = 0;
  for (std::uint32_t seed = 0; seed < 6; ++seed) {
    SCOPED_TRACE(seed);
    Bench<TypeParam> bench({.bytes = kCap}, {.pages = 600, .sequences = 8});
    Answers<TypeParam> answers(bench, seed);
    for (int step = 0; step < 150 && !this->HasFatalFailure(); ++step) {
      if (answers.running.size() < 4 && answers.below(2) == 0) {
        ASSERT_TRUE(answers.start());
      } else if (!answers.running.empty()) {
        answers.end();
      }
      ASSERT_LE(bench.bytes(), kCap + kCap / 50);
      most = std::max(most, bench.bytes());
    }
    while (!answers.running.empty()) {
      answers.end();
    }
    hits += bench.cache->statistics().hits;
    EXPECT_GT(bench.cache->statistics().evictions, 0u);
  }
  EXPECT_GT(hits, 100u);
  EXPECT_GE(most, kCap - kCap / 10);
}

// A prompt's states as a loop leaves them.
void prefill_anchored(RecurrentBench& bench, SequenceId id, const Tokens& tokens,
                      std::uint64_t rows = 0) {
  while (rows < tokens.size()) {
    const std::uint64_t end =
        std::min<std::uint64_t>(tokens.size(), anchor_before(rows) + kAnchorRows);
    ASSERT_TRUE(bench.model.append(id, std::span(tokens).subspan(rows, end - rows)).ok());
    rows = end;
    if (anchor_before(rows) == rows) {
      ASSERT_TRUE(bench.cache->keep_copy(id, std::span(tokens).first(rows)).ok());
    }
  }
}

TEST(PrefixCache, RecurrentStatesAreReusedAtTheDeepestAnchor) {
  RecurrentBench bench;
  const Tokens tokens = counted(1, 2 * kAnchorRows + 10);
  const CachedPrefix first = bench.acquire(tokens);
  EXPECT_EQ(first.rows, 0u);
  prefill_anchored(bench, first.sequence, tokens);
  ASSERT_TRUE(bench.cache->keep(first.sequence, tokens).ok());
  EXPECT_EQ(bench.entries(), 2u);
  EXPECT_EQ(bench.cached(tokens), 2 * kAnchorRows);
  EXPECT_EQ(bench.acquire(tokens, 2 * kAnchorRows - 1).rows, kAnchorRows);
  bench.release(SequenceId(5));
  EXPECT_EQ(bench.cached(counted(1, kAnchorRows - 1)), 0u);
  EXPECT_EQ(bench.cached(joined(counted(1, kAnchorRows), Tokens{9, 9})), kAnchorRows);
}

TEST(PrefixCache, RecurrentStatesOffTheAnchorsAreNotKept) {
  RecurrentBench bench;
  const Tokens tokens = counted(1, kAnchorRows);
  const SequenceId short_one = bench.model.computed(counted(1, 10));
  EXPECT_FALSE(bench.cache->keep_copy(short_one, counted(1, 10)).ok());
  EXPECT_TRUE(bench.cache->keep(short_one, counted(1, 10)).ok());
  // Nothing tells that the last state came from prefill.
  EXPECT_TRUE(bench.cache->keep(bench.model.computed(tokens), tokens).ok());
  // A checkpoint elsewhere is no anchor.
  const SequenceId marked = bench.model.computed(counted(1, 70));
  ASSERT_TRUE(bench.model.states().checkpoint(marked).ok());
  ASSERT_TRUE(bench.model.append(marked, Tokens{5, 6}).ok());
  EXPECT_TRUE(bench.cache->keep(marked, joined(counted(1, 70), Tokens{5, 6})).ok());
  EXPECT_EQ(bench.entries(), 0u);
}

TEST(PrefixCache, AnEvictedAnchorIsStillReachedFromADeeperEntry) {
  RecurrentBench bench({.entries = 1});
  const Tokens tokens = counted(1, 3 * kAnchorRows + 1);
  const SequenceId id = bench.acquire(tokens).sequence;
  prefill_anchored(bench, id, tokens);
  bench.release(id);
  EXPECT_EQ(bench.entries(), 1u);
  EXPECT_EQ(bench.cached(joined(counted(1, 2 * kAnchorRows + 3), Tokens{7})), 2 * kAnchorRows);
}

// A prompt whose state is kept at its last anchor alone, then two others that leave it before.
TEST(PrefixCache, TheSecondPromptThatStartsAlikeLearnsWhereACopyHelpsTheThird) {
  RecurrentBench bench;
  const Tokens system = counted(1, 3 * kAnchorRows + 7);
  const Tokens first = joined(system, counted(1000, 2 * kAnchorRows));
  const SequenceId kept = bench.model.computed(std::span(first).first(5 * kAnchorRows));
  ASSERT_TRUE(bench.cache->keep_copy(kept, std::span(first).first(5 * kAnchorRows)).ok());
  bench.release(kept);

  const Tokens second = joined(system, counted(2000, 2 * kAnchorRows));
  const CachedPrefix missed = bench.acquire(second);
  EXPECT_EQ(missed.rows, 0u);
  EXPECT_EQ(missed.branch_rows, 3 * kAnchorRows);
  const auto branch = std::span(second).first(missed.branch_rows);
  ASSERT_TRUE(bench.model.append(missed.sequence, branch).ok());
  ASSERT_TRUE(bench.cache->keep_copy(missed.sequence, branch).ok());
  bench.release(missed.sequence);

  const CachedPrefix hit = bench.acquire(joined(system, counted(3000, 10)));
  EXPECT_EQ(hit.rows, 3 * kAnchorRows);
  EXPECT_EQ(hit.branch_rows, 0u);
  bench.release(hit.sequence);
}

TEST(PrefixCache, OneLongPromptDoesNotDriveOthersOut) {
  RecurrentBench bench({.entries = 4}, {.pages = 2000, .sequences = 8});
  const Tokens first = counted(5000, kAnchorRows + 1);
  const Tokens second = counted(1, 12 * kAnchorRows + 1);
  for (const Tokens& tokens : {first, second}) {
    const SequenceId id = bench.acquire(tokens).sequence;
    prefill_anchored(bench, id, tokens);
    bench.release(id);
  }
  EXPECT_EQ(bench.entries(), 4u);
  EXPECT_EQ(bench.cached(first), kAnchorRows);
  EXPECT_EQ(bench.cached(second), 12 * kAnchorRows);
}

TEST(PrefixCache, EntriesGiveWayWhereTheModelHasNoSequenceLeft) {
  RecurrentBench bench({.entries = 8}, {.pages = 1024, .sequences = 3});
  std::vector<SequenceId> running;
  const Tokens tokens = counted(1, kAnchorRows + 1);
  running.push_back(bench.acquire(tokens).sequence);
  prefill_anchored(bench, running.back(), tokens);
  EXPECT_EQ(bench.entries(), 1u);
  running.push_back(bench.acquire(tokens).sequence);
  EXPECT_EQ(bench.entries(), 1u);
  const CachedPrefix last = bench.acquire(tokens);  // the entry's own sequence
  EXPECT_EQ(last.rows, kAnchorRows);
  bench.model.expect_state(last.sequence, std::span(tokens).first(kAnchorRows));
  running.push_back(last.sequence);
  EXPECT_EQ(bench.entries(), 0u);
  const auto refused = bench.cache->acquire(tokens, kAll, 0);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, Code::resource_exhausted);
  EXPECT_TRUE(bench.cache->keep_copy(last.sequence, std::span(tokens).first(kAnchorRows)).ok());
  EXPECT_EQ(bench.entries(), 0u);
  for (const SequenceId id : running) {
    bench.release(id);
  }
}

}  // namespace
}  // namespace zllm::engine
