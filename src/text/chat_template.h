#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <zllm/base/json.h>
#include <zllm/base/result.h>

namespace zllm::text {

// Names and texts of special tokens as templates see them: ("bos_token", "<s>").
using SpecialTokens = std::vector<std::pair<std::string, std::string>>;

// The named special tokens of a tokenizer_config.json.
SpecialTokens special_tokens_of(const Json& tokenizer_config);

struct RenderOptions {
  SpecialTokens special_tokens;
  // Seconds since 1970 plus the offset of the time zone, for strftime_now; absent: the host's time.
  std::optional<std::int64_t> local_seconds;
};

// A compiled chat template. It prints what apply_chat_template of transformers prints, and refuses
// what that refuses. Immutable and thread-safe; cheap to copy, copies share their state.
class ChatTemplate {
 public:
  // From jinja2 source in UTF-8.
  static Result<ChatTemplate> compile(std::string_view source);

  // `request` is the text of a JSON object: "messages" (at least one), "tools" and "documents"
  // (null when absent), "add_generation_prompt" (true when absent), and any other member by its
  // name, as are the members of "chat_template_kwargs". A refusal by the template's own
  // raise_exception is invalid_argument with the template's message and nothing else.
  Result<std::string> render(std::string_view request, const RenderOptions& options = {}) const;

  // The template reads the name "tools" somewhere; else tools of a request would get lost.
  bool mentions_tools() const { return mentions_tools_; }
  // The template reads the name "documents" somewhere.
  bool mentions_documents() const { return mentions_documents_; }
  // As it was compiled; valid while any copy lives.
  std::string_view source() const;

 private:
  struct State;
  explicit ChatTemplate(std::shared_ptr<const State> state) : state_(std::move(state)) {}
  std::shared_ptr<const State> state_;
  bool mentions_tools_ = false;
  bool mentions_documents_ = false;
};

}  // namespace zllm::text
