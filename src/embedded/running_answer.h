#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <zllm/embedded/answer.h>
#include <zllm/embedded/best_of.h>
#include <zllm/embedded/choice_text.h>
#include <zllm/engine/stream.h>

namespace zllm {

// A raw prompt that content begins with.
struct Echo {
  std::string text;
  std::vector<TokenId> tokens = {};  // that stand in the text
  std::size_t hidden = 0;            // tokens of the prompt before them
};

struct AnswerPlan {
  std::vector<ChoiceParts> candidates = {};  // one each
  std::uint32_t choices = 1;                 // that are told
  std::uint64_t prompt_tokens = 0;
  bool tells_scores = false;
  bool tells_prompt_alone = false;  // an echo without an answer
  std::optional<Echo> echo = {};
};

// An answer over the engine's stream. All work on text happens on the reader's thread.
class RunningAnswer final : public Answer {
 public:
  RunningAnswer(std::unique_ptr<engine::Stream> stream, AnswerPlan plan);

  std::optional<Event> next() override;
  std::optional<Event> try_next() override;
  void set_notifier(std::function<void()> notifier) override;
  void cancel() override;
  std::uint64_t prompt_tokens() const override { return plan_.prompt_tokens; }

 private:
  std::optional<Event> pop();
  void take(engine::Event event);
  void take(const engine::PromptRead& read);
  void take(const engine::TokenChosen& token);
  void take(const engine::ChoiceFinished& finished);
  void take(const engine::Ended& ended);
  void tell_echo(const engine::PromptRead& read);
  void tell(std::vector<Event> events);

  std::unique_ptr<engine::Stream> stream_;
  AnswerPlan plan_;
  std::vector<ChoiceText> candidates_;
  std::optional<BestOf> best_;  // where more are computed than told
  std::deque<Event> ready_;
  Usage usage_;
  bool is_done_ = false;  // Ended is in ready_ or was given
};

}  // namespace zllm
