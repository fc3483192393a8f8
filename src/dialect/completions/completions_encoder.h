#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <zllm/dialect/completions/completions.h>
#include <zllm/dialect/completions/token_scores.h>
#include <zllm/dialect/generation_fields.h>
#include <zllm/dialect/json_writer.h>

namespace zllm::dialect::completions {

struct CompletionsAnswer {
  AnswerFacts facts;
  std::size_t prompts = 1;
  std::uint32_t choices = 1;  // of each prompt
  bool has_log_probabilities = false;
  OutputOptions output = {};
};

// Writes text_completion objects. Choice c of prompt p has the index p * choices + c.
class CompletionsEncoder final : public BatchEncoder {
 public:
  explicit CompletionsEncoder(CompletionsAnswer answer);

  void stream(std::size_t prompt, const Event& event, std::vector<Item>& out) override;
  void collect(std::size_t prompt, const Event& event) override;
  std::string body() override;

 private:
  struct Choice {
    std::string text;
    TokenScores scores;
    std::uint64_t offset = 0;  // characters of the text
    StopReason reason = StopReason::end;
  };

  std::size_t index_of(std::size_t prompt, const Event& event) const;
  void add_end(const Ended& ended);
  void write_totals(JsonWriter& json, bool has_usage) const;
  void send(std::size_t prompt, const Event& event, std::string_view text, std::vector<Item>& out);
  void end(const Ended& ended, std::vector<Item>& out);

  CompletionsAnswer answer_;
  std::string begin_;  // of every object, up to its choices
  std::vector<Choice> choices_;
  Usage usage_;            // of the prompts that ended
  AnswerTimings timings_;  // of the slowest
  std::size_t ended_ = 0;
  bool has_failed_ = false;
};

}  // namespace zllm::dialect::completions
