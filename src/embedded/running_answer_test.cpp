#include <zllm/embedded/running_answer.h>

#include <gtest/gtest.h>

#include <cmath>

#include <zllm/base/text.h>
#include <zllm/embedded/scripted_test-inl.h>

namespace zllm {
namespace {

using testing::Heard;
using testing::ScriptedStream;
using testing::Told;
namespace family = text::family;

// "(name)" begins a call, ";" ends it; "[" begins reasoning, "]" ends it.
class BracketParser final : public family::OutputParser {
 public:
  void add(std::string_view text, bool is_special, std::vector<family::Piece>& out) override {
    for (const char sign : is_special ? std::string_view() : text) {
      add(sign, out);
    }
  }
  using family::OutputParser::finish;
  void finish(std::vector<family::Piece>& out, family::Ending) override {
    if (state_ == State::call) {
      out.emplace_back(family::CallEnd{.call = calls_ - 1});
    }
  }

 private:
  enum class State : std::uint8_t { content, reasoning, name, call };

  void add(char sign, std::vector<family::Piece>& out) {
    if (state_ == State::content && (sign == '[' || sign == '(')) {
      state_ = sign == '[' ? State::reasoning : State::name;
    } else if (state_ == State::reasoning && sign == ']') {
      state_ = State::content;
    } else if (state_ == State::name && sign == ')') {
      state_ = State::call;
      out.emplace_back(family::CallBegin{.call = calls_++, .name = std::exchange(name_, "")});
    } else if (state_ == State::call && sign == ';') {
      state_ = State::content;
      out.emplace_back(family::CallEnd{.call = calls_ - 1});
    } else {
      say(sign, out);
    }
  }
  void say(char sign, std::vector<family::Piece>& out) {
    switch (state_) {
      case State::content:
        out.emplace_back(family::Content{std::string(1, sign)});
        break;
      case State::reasoning:
        out.emplace_back(family::Reasoning{.text = std::string(1, sign)});
        break;
      case State::name:
        name_ += sign;
        break;
      case State::call:
        out.emplace_back(family::CallArguments{.call = calls_ - 1, .json = std::string(1, sign)});
        break;
    }
  }

  State state_ = State::content;
  std::string name_;
  std::uint32_t calls_ = 0;
};

class RunningAnswerTest : public ::testing::Test {
 protected:
  ChoiceParts parts(std::vector<std::string> stop = {}, bool has_parser = true) const {
    return {.tokenizer = tokenizer_,
            .parser = has_parser ? std::make_unique<BracketParser>() : nullptr,
            .stops = *text::StopStrings::create(std::move(stop))};
  }
  AnswerPlan plan(ChoiceParts of) const {
    AnswerPlan made;
    made.candidates.push_back(std::move(of));
    return made;
  }
  std::vector<engine::Event> script(std::string_view text,
                                    engine::FinishReason reason = engine::FinishReason::end_token) {
    std::vector<engine::Event> events = testing::tokens_of(tokenizer_, text);
    events.insert(events.begin(), engine::PromptRead{.prompt_tokens = 7, .cached_tokens = 3});
    events.emplace_back(engine::ChoiceFinished{.choice = 0, .reason = reason});
    events.emplace_back(engine::Ended{});
    return events;
  }
  Heard hear(std::vector<engine::Event> events, AnswerPlan of) {
    RunningAnswer answer(std::make_unique<ScriptedStream>(std::move(events), notes_),
                         std::move(of));
    return testing::hear_all(answer);
  }

  text::Tokenizer tokenizer_ = testing::small_tokenizer();
  ScriptedStream::Notes notes_;
};

TEST_F(RunningAnswerTest, TellsTextUsageAndTheEnd) {
  const Heard heard = hear(script("Hello, world"), plan(parts()));
  EXPECT_EQ(heard.choices[0].content, "Hello, world");
  EXPECT_EQ(heard.choices[0].end->reason, StopReason::end);
  EXPECT_EQ(heard.started->prompt_tokens, 7u);
  EXPECT_EQ(heard.started->cached_tokens, 3u);
  EXPECT_EQ(heard.ended->usage.completion_tokens, tokenizer_.encode("Hello, world")->size());
  EXPECT_EQ(heard.ended->usage.cached_tokens, 3u);
  EXPECT_FALSE(heard.ended->failure);
}

TEST_F(RunningAnswerTest, AStopStringEndsTheChoiceWhereverTokensBreak) {
  const Heard heard = hear(script("abcDEFGHIJklm"), plan(parts({"DEFGHIJ"})));
  EXPECT_EQ(heard.choices[0].content, "abc");
  EXPECT_EQ(heard.choices[0].end->reason, StopReason::stop);
  EXPECT_EQ(heard.choices[0].end->stop_string, "DEFGHIJ");
  EXPECT_EQ(notes_.cancelled_choices, std::vector<std::uint32_t>{0});
  EXPECT_LT(heard.ended->usage.completion_tokens, tokenizer_.encode("abcDEFGHIJklm")->size());
  EXPECT_EQ(heard.ended->usage.completion_tokens, heard.choices[0].end->tokens);
}

TEST_F(RunningAnswerTest, APartialStopStringAtTheEndIsTold) {
  for (const auto reason : {engine::FinishReason::end_token, engine::FinishReason::length}) {
    const Heard heard = hear(script("abcDEF", reason), plan(parts({"DEFG"})));
    EXPECT_EQ(heard.choices[0].content, "abcDEF");
  }
}

TEST_F(RunningAnswerTest, StopStringsAreNotLookedForInReasoningAndCalls) {
  const Heard heard = hear(script("[abSTOP](f){\"STOP\":1};xSTOPy"), plan(parts({"STOP"})));
  EXPECT_EQ(heard.choices[0].reasoning, "abSTOP");
  ASSERT_EQ(heard.choices[0].calls.size(), 1u);
  EXPECT_EQ(heard.choices[0].calls[0].second, "{\"STOP\":1}");
  EXPECT_EQ(heard.choices[0].content, "x");
  EXPECT_EQ(heard.choices[0].end->reason, StopReason::stop);
  EXPECT_GT(heard.ended->usage.reasoning_tokens, 0u);
  EXPECT_LT(heard.ended->usage.reasoning_tokens, heard.ended->usage.completion_tokens);
}

TEST_F(RunningAnswerTest, HeldTextComesBeforeTheCallThatFollows) {
  RunningAnswer answer(std::make_unique<ScriptedStream>(script("abD(f){};"), notes_),
                       plan(parts({"DEF"})));
  std::string order;
  while (const auto event = answer.next()) {
    if (const auto *content = std::get_if<ContentDelta>(&event->what)) {
      order += content->text;
    }
    order += std::holds_alternative<CallStarted>(event->what) ? "(" : "";
  }
  EXPECT_EQ(order, "abD(");
}

TEST_F(RunningAnswerTest, CallsHaveIdsOfTheirOwnAndEndWithCalls) {
  const Heard heard = hear(script("(one){\"a\":1};(two){};"), plan(parts()));
  const Told& told = heard.choices[0];
  ASSERT_EQ(told.calls.size(), 2u);
  EXPECT_EQ(told.calls[0], std::pair(std::string("one"), std::string("{\"a\":1}")));
  EXPECT_NE(told.call_ids[0], told.call_ids[1]);
  EXPECT_TRUE(told.call_ids[0].starts_with("call_"));
  EXPECT_EQ(told.finished_calls, 2u);
  EXPECT_EQ(told.end->reason, StopReason::calls);
}

TEST_F(RunningAnswerTest, SyntaxThatWasCutIsNoContentWhereCallsAloneAreWritten) {
  ChoiceParts calls = parts({"ca"});
  calls.tells_calls_alone = true;
  const Heard heard =
      hear(script("[r](one){};</tool_ca", engine::FinishReason::length), plan(std::move(calls)));
  EXPECT_EQ(heard.choices[0].content, "");
  EXPECT_EQ(heard.choices[0].reasoning, "r");
  EXPECT_EQ(heard.choices[0].calls.size(), 1u);
  EXPECT_EQ(heard.choices[0].end->reason, StopReason::length);
}

TEST_F(RunningAnswerTest, OneCallEndsTheChoiceWhereSeveralAreNotAllowed) {
  ChoiceParts single = parts();
  single.allows_parallel_calls = false;
  const Heard heard = hear(script("(one){};(two){};"), plan(std::move(single)));
  EXPECT_EQ(heard.choices[0].calls.size(), 1u);
  EXPECT_EQ(heard.choices[0].finished_calls, 1u);
  EXPECT_EQ(heard.choices[0].end->reason, StopReason::calls);
  EXPECT_EQ(notes_.cancelled_choices.size(), 1u);
}

TEST_F(RunningAnswerTest, RawTextLeavesControlTokensOut) {
  const Heard heard = hear(script("a<|im_start|>(b"), plan(parts({}, false)));
  EXPECT_EQ(heard.choices[0].content, "a(b");
}

TEST_F(RunningAnswerTest, EveryTokenIsScoredOnceAtTheEndAtTheLatest) {
  const std::string text = "abcDEFx";
  std::vector<engine::Event> events = testing::tokens_of(tokenizer_, text, 0, -0.5);
  events.insert(events.begin(), engine::PromptRead{});
  events.emplace_back(engine::ChoiceFinished{});
  events.emplace_back(engine::Ended{});
  AnswerPlan scored = plan(parts({"DEFG", "x"}));
  scored.tells_scores = true;
  const Heard heard = hear(std::move(events), std::move(scored));
  std::string bytes;
  for (const ScoredToken& token : heard.choices[0].scored) {
    bytes += token.bytes;
  }
  EXPECT_EQ(bytes, text);
  EXPECT_EQ(heard.choices[0].content, "abcDEF");
}

TEST_F(RunningAnswerTest, LengthTellsWhetherTheContextIsFull) {
  ChoiceParts bounded = parts();
  bounded.max_tokens = tokenizer_.encode("abc")->size();
  const Heard full = hear(script("abc", engine::FinishReason::length), plan(parts()));
  const Heard cut = hear(script("abc", engine::FinishReason::length), plan(std::move(bounded)));
  EXPECT_EQ(full.choices[0].end->reason, StopReason::length);
  EXPECT_TRUE(full.choices[0].end->is_context_full);
  EXPECT_FALSE(cut.choices[0].end->is_context_full);
}

TEST_F(RunningAnswerTest, AStopTokenOfTheRequestIsAStop) {
  ChoiceParts with_token = parts();
  with_token.stop_tokens = {5};
  std::vector<engine::Event> events = script("abc");
  events[events.size() - 2] = engine::ChoiceFinished{
      .choice = 0, .reason = engine::FinishReason::end_token, .end_token = TokenId{5}};
  const Heard heard = hear(std::move(events), plan(std::move(with_token)));
  EXPECT_EQ(heard.choices[0].end->reason, StopReason::stop);
  EXPECT_EQ(heard.choices[0].end->stop_string, "");
}

TEST_F(RunningAnswerTest, AFailureKeepsWhatWasHeldBack) {
  std::vector<engine::Event> events = testing::tokens_of(tokenizer_, "abD");
  events.insert(events.begin(), engine::PromptRead{});
  events.emplace_back(
      engine::Ended{.failure = engine::Failed{.kind = engine::FailureKind::deadline,
                                              .error = Error{Code::cancelled, "not done in time"}},
                    .timings = {}});
  const Heard heard = hear(std::move(events), plan(parts({"DEF"})));
  EXPECT_EQ(heard.choices[0].content, "abD");
  ASSERT_TRUE(heard.ended->failure);
  EXPECT_EQ(heard.ended->failure->kind, FailureKind::deadline);
  EXPECT_FALSE(heard.choices[0].end);
}

TEST_F(RunningAnswerTest, AnIncompleteCharacterAtTheEndIsNoText) {
  std::vector<engine::Event> events;
  const std::vector<TokenId> ids = *tokenizer_.encode("\xf0\x9f\xa6\x80");
  ASSERT_GT(ids.size(), 1u);
  events.emplace_back(engine::PromptRead{});
  events.emplace_back(engine::TokenChosen{.choice = 0, .token = ids[0], .log_probabilities = {}});
  events.emplace_back(engine::ChoiceFinished{});
  events.emplace_back(engine::Ended{});
  EXPECT_EQ(hear(std::move(events), plan(parts({}, false))).choices[0].content, "");
}

TEST_F(RunningAnswerTest, BestOfTellsTheLikeliestFirst) {
  std::vector<engine::Event> events{engine::PromptRead{}};
  const double means[] = {-2, -0.5, -1};
  for (std::uint32_t i = 0; i < 3; ++i) {
    for (auto& event : testing::tokens_of(tokenizer_, concat("answer ", i), i, means[i])) {
      events.push_back(std::move(event));
    }
    events.emplace_back(engine::ChoiceFinished{.choice = i});
  }
  events.emplace_back(engine::Ended{});
  AnswerPlan best;
  best.choices = 2;
  for (int i = 0; i < 3; ++i) {
    best.candidates.push_back(parts());
  }
  const Heard heard = hear(std::move(events), std::move(best));
  EXPECT_EQ(heard.choices[0].content, "answer 1");
  EXPECT_EQ(heard.choices[1].content, "answer 2");
  EXPECT_TRUE(heard.choices[0].end && heard.choices[1].end && !heard.choices[2].end);
  EXPECT_TRUE(heard.choices[0].scored.empty());
  EXPECT_EQ(heard.ended->usage.completion_tokens, 3 * tokenizer_.encode("answer 0")->size());
}

TEST_F(RunningAnswerTest, AnEchoComesFirstWithItsScores) {
  const std::vector<TokenId> prompt = *tokenizer_.encode("ab cd");
  engine::PromptRead read{.prompt_tokens = prompt.size()};
  for (std::size_t i = 1; i < prompt.size(); ++i) {
    read.log_probabilities.push_back(
        {.chosen = {.token = prompt[i], .log_probability = -1}, .top = {}});
  }
  for (const bool is_alone : {false, true}) {
    std::vector<engine::Event> events = script("xyz");
    events.front() = read;
    AnswerPlan echo = plan(parts({}, false));
    echo.tells_scores = true;
    echo.tells_prompt_alone = is_alone;
    echo.echo = Echo{.text = "ab cd", .tokens = prompt, .hidden = 0};
    const Heard heard = hear(std::move(events), std::move(echo));
    EXPECT_EQ(heard.choices[0].content, is_alone ? "ab cd" : "ab cdxyz");
    ASSERT_EQ(heard.choices[0].scored.size(), prompt.size());
    EXPECT_TRUE(std::isnan(heard.choices[0].scored[0].log_probability));
    EXPECT_EQ(heard.ended->usage.completion_tokens > 0, !is_alone);
  }
}

TEST_F(RunningAnswerTest, CancelReachesTheStreamAndTryNextNeverWaits) {
  RunningAnswer answer(std::make_unique<ScriptedStream>(std::vector<engine::Event>{}, notes_),
                       plan(parts()));
  answer.cancel();
  EXPECT_TRUE(notes_.is_cancelled);
  EXPECT_FALSE(answer.try_next());
}

}  // namespace
}  // namespace zllm
