#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <stop_token>
#include <vector>

#include <zllm/engine/generation.h>
#include <zllm/engine/session.h>

namespace zllm::engine {
namespace {

using runtime::ModelInfo;
using runtime::Round;
using runtime::RoundOutput;
using runtime::SequenceSnapshot;

constexpr std::uint32_t kVocabulary = 16;

// A model whose likeliest next token is (last token + 1) mod vocabulary, and which counts the rows
// that it had to compute.
class CountingModel final : public runtime::AnyModel, public runtime::SequenceStates {
 public:
  enum class State { paged, recurrent };

  explicit CountingModel(std::uint64_t context, State state = State::paged) {
    info_.limits = {.vocabulary = kVocabulary, .context = context, .rows = 4};
    info_.is_recurrent = state == State::recurrent;
  }

  const ModelInfo& info() const override { return info_; }
  SequenceStates& states() override { return *this; }

  Result<RoundOutput> submit(const Round& round) override {
    ZLLM_TRY(runtime::validate(round, info_.limits));
    RoundOutput output{.vocabulary = kVocabulary, .logits = {}};
    for (const runtime::Segment& segment : round.segments) {
      if (segment.start != rows_.at(segment.sequence)) {
        return Error{Code::invalid_argument, "not where the sequence stands"};
      }
      computed += segment.tokens.size();
      for (const std::uint32_t row : segment.logit_rows) {
        std::vector<float> logits(kVocabulary, 0.0F);
        logits[static_cast<std::size_t>(segment.tokens[row] + 1) % kVocabulary] = 5.0F;
        output.logits.insert(output.logits.end(), logits.begin(), logits.end());
      }
    }
    return output;
  }

  Result<SequenceId> create(std::uint64_t) override {
    const SequenceId id(next_++);
    rows_[id] = 0;
    return id;
  }
  Status release(SequenceId id) override {
    rows_.erase(id);
    return {};
  }
  Result<SequenceId> fork(SequenceId) override { return Error{Code::unsupported, "fork"}; }
  Status commit(SequenceId id, std::uint64_t rows) override {
    rows_.at(id) += rows;
    return {};
  }
  Status rollback(SequenceId) override { return {}; }
  Status checkpoint(SequenceId id) override {
    checkpoints_[id].insert(rows_.at(id));
    return {};
  }
  // A recurrent state reaches its checkpoints alone.
  Result<std::uint64_t> truncate(SequenceId id, std::uint64_t rows) override {
    std::set<std::uint64_t>& marks = checkpoints_[id];
    marks.erase(marks.upper_bound(rows), marks.end());
    const bool is_exact = !info_.is_recurrent || rows == rows_.at(id);
    const std::uint64_t last = marks.empty() ? 0 : *marks.rbegin();
    rows_.at(id) = is_exact ? rows : last;
    return rows_.at(id);
  }
  Status restore(SequenceId, std::uint64_t) override { return Error{Code::unsupported, "restore"}; }
  Result<SequenceSnapshot> export_state(SequenceId) const override {
    return Error{Code::unsupported, "export"};
  }
  Result<SequenceId> import_state(const SequenceSnapshot&) override {
    return Error{Code::unsupported, "import"};
  }
  Result<std::uint64_t> rows(SequenceId id) const override { return rows_.at(id); }
  Result<std::uint64_t> size_bytes(SequenceId) const override { return std::uint64_t{0}; }
  std::uint64_t free_rows() const override { return info_.limits.context; }

  std::size_t open_sequences() const { return rows_.size(); }

  std::uint64_t computed = 0;

 private:
  ModelInfo info_;
  std::uint64_t next_ = 1;
  std::map<SequenceId, std::uint64_t> rows_;
  std::map<SequenceId, std::set<std::uint64_t>> checkpoints_;
};

GenerationRequest request(std::vector<TokenId> prompt, std::uint64_t max_tokens) {
  GenerationRequest made;
  made.prompt = std::move(prompt);
  made.max_tokens = max_tokens;
  made.sampling.temperature = 0;
  return made;
}

bool keep_going(TokenId) { return true; }

TEST(Session, ReusesTheCommonStartAndReleasesItsSequence) {
  CountingModel model(64);
  {
    auto session = Session::create(model);
    ASSERT_TRUE(session.ok());
    const std::vector<TokenId> first = {1, 2, 3, 4, 5, 6};
    ASSERT_TRUE(session->prompt(first).ok());
    EXPECT_EQ(model.computed, 6u);
    const std::vector<TokenId> second = {1, 2, 3, 9, 9};
    ASSERT_TRUE(session->prompt(second).ok());
    EXPECT_EQ(session->reused_tokens(), 3u);
    EXPECT_EQ(model.computed, 8u);
    // The same prompt again: its last row runs, since its logits are wanted.
    ASSERT_TRUE(session->prompt(second).ok());
    EXPECT_EQ(session->reused_tokens(), 4u);
    EXPECT_EQ(model.computed, 9u);
    EXPECT_TRUE(std::ranges::equal(session->tokens(), second));
  }
  EXPECT_EQ(model.open_sequences(), 0u);
}

TEST(Session, ResumesARecurrentStateAtTheCheckpointItReaches) {
  CountingModel model(64, CountingModel::State::recurrent);
  auto session = Session::create(model);
  const std::vector<TokenId> first = {1, 2, 3, 4, 5, 6, 7};
  ASSERT_TRUE(session->prompt(first).ok());
  EXPECT_EQ(model.computed, 7u);
  ASSERT_TRUE(session->append(8).ok());
  ASSERT_TRUE(session->append(9).ok());
  // Another answer to the same prompt starts behind all of it but its last token.
  ASSERT_TRUE(session->prompt(first).ok());
  EXPECT_EQ(session->reused_tokens(), 6u);
  // What goes on from the state reuses all of it, what leaves the answer the prompt.
  ASSERT_TRUE(session->append(8).ok());
  const std::vector<TokenId> longer = {1, 2, 3, 4, 5, 6, 7, 8, 10, 11};
  ASSERT_TRUE(session->prompt(longer).ok());
  EXPECT_EQ(session->reused_tokens(), 8u);
  const std::vector<TokenId> leaves = {1, 2, 3, 4, 5, 6, 7, 9, 9};
  ASSERT_TRUE(session->prompt(leaves).ok());
  EXPECT_EQ(session->reused_tokens(), 6u);
  EXPECT_TRUE(std::ranges::equal(session->tokens(), leaves));
  // A common start before the first checkpoint is computed again.
  const std::vector<TokenId> other = {1, 2, 9};
  ASSERT_TRUE(session->prompt(other).ok());
  EXPECT_EQ(session->reused_tokens(), 0u);
  EXPECT_TRUE(std::ranges::equal(session->tokens(), other));
}

TEST(Session, ARecurrentStateReportsProgressOverTheWholePrompt) {
  CountingModel model(64, CountingModel::State::recurrent);
  auto session = Session::create(model);
  std::vector<std::uint64_t> seen;
  const auto note = [&](std::uint64_t done, std::uint64_t total) {
    EXPECT_EQ(total, 7u);
    seen.push_back(done);
  };
  const auto logits = session->prompt(std::vector<TokenId>{1, 2, 3, 4, 5, 6, 7}, {}, note);
  ASSERT_TRUE(logits.ok());
  EXPECT_EQ(logits->rows(), 1u);
  EXPECT_EQ(seen, (std::vector<std::uint64_t>{4, 6, 7}));
}

TEST(Session, RefusesWhatDoesNotFitWithBothCounts) {
  CountingModel model(4);
  auto session = Session::create(model);
  const auto refused = session->prompt(std::vector<TokenId>{1, 2, 3, 4, 5});
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().message.find("5"), std::string::npos);
  EXPECT_NE(refused.error().message.find("4"), std::string::npos);
  EXPECT_FALSE(session->prompt({}).ok());
  EXPECT_EQ(model.computed, 0u);
}

TEST(Generation, CountsUpToTheLength) {
  CountingModel model(64);
  auto session = Session::create(model);
  const auto answer = generate(*session, request({3}, 4), keep_going);
  ASSERT_TRUE(answer.ok()) << answer.error().message;
  EXPECT_EQ(answer->tokens, (std::vector<TokenId>{4, 5, 6, 7}));
  EXPECT_EQ(answer->reason, FinishReason::length);
  EXPECT_EQ(answer->prompt_tokens, 1u);
  // The last token is not computed: nobody asked what follows it.
  EXPECT_EQ(model.computed, 4u);
}

TEST(Generation, EndsAtAnEndTokenWithoutEmittingIt) {
  CountingModel model(64);
  auto session = Session::create(model);
  GenerationRequest asked = request({3}, 40);
  asked.end_tokens = {9, 6};
  const auto answer = generate(*session, asked, keep_going);
  EXPECT_EQ(answer->tokens, (std::vector<TokenId>{4, 5}));
  EXPECT_EQ(answer->reason, FinishReason::end_token);
}

TEST(Generation, EndsWhenTheCallerHadEnoughOrTheContextIsFull) {
  CountingModel model(6);
  auto session = Session::create(model);
  const auto stopped =
      generate(*session, request({1, 2}, 40), [](TokenId token) { return token != 4; });
  EXPECT_EQ(stopped->tokens, (std::vector<TokenId>{3, 4}));
  EXPECT_EQ(stopped->reason, FinishReason::stopped);
  const auto full = generate(*session, request({1, 2}, 40), keep_going);
  EXPECT_EQ(full->reason, FinishReason::length);
  // Rows 0 to 5 hold tokens 1 to 6; what follows them is still known.
  EXPECT_EQ(full->tokens.size(), 5u);
}

TEST(Generation, IsCancelledInTheAnswerAndInThePromptAndKeepsWhatIsComputed) {
  CountingModel model(64);
  auto session = Session::create(model);
  std::stop_source source;
  int seen = 0;
  const auto answer = generate(
      *session, request({1, 2}, 40),
      [&](TokenId) {
        if (++seen == 3) {
          source.request_stop();
        }
        return true;
      },
      source.get_token());
  ASSERT_TRUE(answer.ok());
  EXPECT_EQ(answer->reason, FinishReason::cancelled);
  EXPECT_EQ(answer->tokens.size(), 3u);

  std::stop_source in_prompt;
  const auto progress = [&](std::uint64_t done, std::uint64_t) {
    if (done >= 4) {
      in_prompt.request_stop();
    }
  };
  const std::vector<TokenId> prompt(12, 7);
  const auto cut =
      generate(*session, request(prompt, 4), keep_going, in_prompt.get_token(), progress);
  ASSERT_TRUE(cut.ok());
  EXPECT_EQ(cut->reason, FinishReason::cancelled);
  EXPECT_EQ(session->tokens().size(), 4u);
  const auto resumed = generate(*session, request(prompt, 1), keep_going);
  EXPECT_EQ(resumed->reused_tokens, 4u);
  EXPECT_EQ(resumed->tokens, (std::vector<TokenId>{8}));
}

TEST(Generation, RefusesParametersOutOfRangeByName) {
  CountingModel model(64);
  auto session = Session::create(model);
  GenerationRequest asked = request({1}, 4);
  asked.sampling.top_p = 2;
  const auto refused = generate(*session, asked, keep_going);
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().message.find("top_p"), std::string::npos);
  EXPECT_FALSE(generate(*session, request({1}, 0), keep_going).ok());
  EXPECT_EQ(model.computed, 0u);
}

TEST(Generation, NeverChoosesPaddingOfTheVocabulary) {
  CountingModel model(64);
  auto session = Session::create(model);
  GenerationRequest asked = request({7}, 1);
  asked.vocabulary = 8;  // the model's favourite, 8, is not among the tokenizer's
  const auto answer = generate(*session, asked, keep_going);
  ASSERT_TRUE(answer.ok());
  EXPECT_LT(answer->tokens[0], 8);
}

TEST(Generation, TheSameSeedGivesTheSameAnswer) {
  CountingModel model(64);
  GenerationRequest asked = request({7}, 20);
  asked.sampling.temperature = 5;
  asked.sampling.seed = 42;
  const auto run = [&](const GenerationRequest& wanted) {
    auto session = Session::create(model);
    return generate(*session, wanted, keep_going)->tokens;
  };
  const std::vector<TokenId> first = run(asked);
  EXPECT_EQ(run(asked), first);
  GenerationRequest other = asked;
  other.choice = 1;
  EXPECT_NE(run(other), first);
  other = asked;
  other.sampling.seed = 43;
  EXPECT_NE(run(other), first);
}

}  // namespace
}  // namespace zllm::engine
