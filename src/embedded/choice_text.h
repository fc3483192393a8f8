#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <zllm/embedded/event.h>
#include <zllm/embedded/scored_text.h>
#include <zllm/engine/event.h>
#include <zllm/text/detokenizer.h>
#include <zllm/text/family/output_parser.h>
#include <zllm/text/stop_strings.h>
#include <zllm/text/tokenizer.h>

namespace zllm {

struct ChoiceParts {
  text::Tokenizer tokenizer;
  std::unique_ptr<text::family::OutputParser> parser;  // null: all is content, control tokens none
  text::StopStrings stops;
  std::vector<TokenId> stop_tokens = {};  // of the request; others are the model's own end
  std::uint64_t max_tokens = 0;           // asked for; 0 = as many as the context holds
  bool is_reasoning_open = false;
  std::string_view reasoning_end = {};  // the family's; empty = none
  bool allows_parallel_calls = true;
  // A fence lets nothing but calls be written, so what is read as content is syntax that was cut.
  bool tells_calls_alone = false;
};

ScoredToken scored_token(const text::Tokenizer& tokenizer,
                         const sampling::LogProbabilities& log_probabilities);

// One choice of an answer from tokens to events: text, reasoning and calls apart, stop strings
// looked for in content alone, nothing held back longer than it must be and nothing lost.
class ChoiceText {
 public:
  ChoiceText(std::uint32_t choice, ChoiceParts parts);

  // May end the choice, by a stop string or after the one call that is allowed; then what comes
  // after is passed over, and is not counted.
  void add(const engine::TokenChosen& token, std::vector<Event>& out);
  void finish(const engine::ChoiceFinished& finished, std::vector<Event>& out);
  // What was held back, where the answer breaks off without an end.
  void break_off(std::vector<Event>& out);

  bool is_ended() const { return is_ended_; }
  const text::Tokenizer& tokenizer() const { return parts_.tokenizer; }
  std::uint64_t tokens() const { return tokens_; }
  std::uint64_t reasoning_tokens() const { return reasoning_tokens_; }
  // Of all tokens that were counted; 0 where log-probabilities were not asked for.
  double sum_of_log_probabilities() const { return log_probability_; }

 private:
  void add_text(std::string_view text, bool is_special, std::vector<Event>& out);
  bool is_whole(const Event& event) const;
  void pass(std::vector<text::family::Piece> pieces, std::vector<Event>& out);
  void pass(const text::family::Content& content, std::vector<Event>& out);
  void pass(text::family::Reasoning reasoning, std::vector<Event>& out);
  void pass(text::family::CallBegin begin, std::vector<Event>& out);
  void pass(text::family::CallArguments arguments, std::vector<Event>& out);
  void pass(text::family::CallEnd end, std::vector<Event>& out);
  void flush(text::family::Ending ending, std::vector<Event>& out);
  void flush_content(std::vector<Event>& out);
  void look_for_reasoning_end(TokenId token);
  void end(StopReason reason, std::vector<Event>& out);
  void emit(decltype(Event::what) what, std::vector<Event>& out);

  std::uint32_t choice_;
  ChoiceParts parts_;
  text::Detokenizer detokenizer_;
  ScoredText scored_;  // empty where log-probabilities were not asked for
  std::uint64_t tokens_ = 0;
  std::uint64_t reasoning_tokens_ = 0;
  double log_probability_ = 0;
  bool is_reasoning_;
  std::string reasoning_tail_;  // the last bytes of reasoning, less than its end marker
  bool has_calls_ = false;
  bool is_context_full_ = false;
  bool is_cut_ = false;  // a call that ends now may not be whole
  bool is_ended_ = false;
};

}  // namespace zllm
