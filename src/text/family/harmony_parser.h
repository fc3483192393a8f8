#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <zllm/text/family/call_syntax.h>
#include <zllm/text/family/family.h>

namespace zllm::text::family {

// The parser of answers that are messages with a channel and perhaps a recipient:
//   <|start|>assistant to=functions.NAME<|channel|>CHANNEL <|constrain|>json<|message|>BODY<|end|>
// where the prompt has begun the first one. Calls go to functions. or to a tool of the request; the
// analysis channel is reasoning; everything else is content. Headers may lack parts and hold them
// in any order; text without a header is content.
class HarmonyParser final : public OutputParser {
 public:
  explicit HarmonyParser(const ParserOptions& options);

  void add(std::string_view text, bool is_special, std::vector<Piece>& out) override;
  void finish(std::vector<Piece>& out, Ending ending) override;

 private:
  enum class Kind : std::uint8_t { content, reasoning, call };
  struct Message {
    Kind kind = Kind::content;
    std::string name = {};  // of the call
  };

  Task<Done> read_answer();
  // Reads the header that is next, if any.
  Task<Message> read_message_header();
  Task<Done> read_body(Message message);
  Task<Done> read_text(Kind kind);
  Message message_of(std::string_view header) const;
  void write(Kind kind, std::string_view text);

  ToolTable tools_;
  bool allows_calls_;
  bool separates_reasoning_;
  bool is_reasoning_open_;
  bool is_unanswered_ = false;  // reasoning that the prompt opened is still not closed
  std::string unanswered_;
  Input input_;
  PieceWriter writer_;
  Task<Done> answer_;
  bool is_started_ = false;
};

}  // namespace zllm::text::family
