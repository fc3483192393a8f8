#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <zllm/text/family/call_syntax.h>
#include <zllm/text/family/family.h>

namespace zllm::text::family {

// How a family writes whole answers: reasoning, content, calls.
struct AnswerSyntax {
  std::string_view reasoning_begin;
  std::string_view reasoning_end;
  const CallSyntax *calls = nullptr;
};

// The parser of every family whose answers are text with markers. Reasoning begins only where no
// content stands before it: at the start, behind other reasoning and behind calls.
class AnswerParser final : public OutputParser {
 public:
  AnswerParser(const AnswerSyntax& syntax, const ParserOptions& options);

  void add(std::string_view text, bool is_special, std::vector<Piece>& out) override;
  void finish(std::vector<Piece>& out, Ending ending) override;

 private:
  // What stands right before the cursor.
  enum class Before : std::uint8_t { start, reasoning, call };

  AnswerParser(const AnswerSyntax& syntax, std::shared_ptr<const ToolTable> tools,
               bool allows_calls);

  Task<Done> read_answer();
  Task<Done> read_reasoning();
  // Reads what may stand between two parts, that is before content. False where content is next.
  Task<bool> read_between(Before *before);
  // Reads content up to and with the next call; false at the end.
  Task<bool> read_content();
  bool is_known(std::string_view spelling) const;
  CallContext context() { return {.input = &input_, .out = &writer_, .tools = tools_.get()}; }

  AnswerSyntax syntax_;
  std::shared_ptr<const ToolTable> tools_;
  bool allows_calls_;
  bool separates_reasoning_ = true;
  bool is_unanswered_ = false;  // the prompt opened reasoning that is not closed yet
  std::string unanswered_;      // which it is
  std::vector<std::string_view> reasoning_markers_;  // begin and end; none for families without
  Input input_;
  PieceWriter writer_;
  Task<Done> answer_;
  bool is_started_ = false;
};

}  // namespace zllm::text::family
