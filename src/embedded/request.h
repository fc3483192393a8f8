#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <zllm/base/strong.h>
#include <zllm/embedded/message.h>

namespace zllm {

struct Tool {
  std::string name;
  std::string description = {};
  std::string parameters = {};  // JSON schema text; empty = no arguments are described
  bool is_strict = false;       // arguments satisfy the schema, enforced
};

enum class ToolRule : std::uint8_t { automatic, none, required };

struct ToolChoice {
  ToolRule rule = ToolRule::automatic;
  std::vector<std::string> names = {};  // only these tools; empty = all
};

enum class FormatKind : std::uint8_t { text, json_object, json_schema, regex, lark, gbnf };

struct ResponseFormat {
  FormatKind kind = FormatKind::text;
  std::string source = {};                // the schema, pattern or grammar
  std::string field = "response_format";  // that asked for it, by which failures name it
};

struct ReasoningOptions {
  std::optional<bool> is_enabled = {};       // the template's enable_thinking
  std::optional<std::string> effort = {};    // the template's reasoning_effort
  std::optional<std::uint64_t> budget = {};  // tokens, enforced
  bool is_separate = true;  // off: reasoning stays in content as the model wrote it
};

// What is not set comes from the model's own generation configuration, else from the API's usual
// default (temperature 1).
struct SamplingOptions {
  std::optional<double> temperature = {}, top_p = {}, min_p = {}, typical_p = {},
                        repetition_penalty = {}, presence_penalty = {}, frequency_penalty = {};
  std::optional<std::int64_t> top_k = {}, penalty_last_n = {};
  std::vector<std::pair<TokenId, double>> logit_bias = {};
  std::optional<std::uint64_t> seed = {};  // nothing: a fresh one for each request
};

// Messages for the model's chat template.
struct Conversation {
  std::vector<Message> messages;
  std::vector<Tool> tools = {};
  ToolChoice tool_choice = {};
  bool allows_parallel_calls = true;
  // Of the template by name, JSON text of an object; empty = none.
  std::string template_arguments = {};
  bool continues_last_message = false;  // the answer goes on with the assistant's last message
  // Leaves out the oldest turns where the prompt and max_tokens, else an eighth of the context, do
  // not fit together.
  bool drops_oldest = false;
  bool opens_answer = true;  // the prompt ends with what begins an assistant's message, if not that
};

// A prompt as it is: text whose control tokens are parsed, or ids.
struct RawPrompt {
  std::variant<std::string, std::vector<TokenId>> prompt;
};

// The one request of every way in: C++, C, and each dialect of the service.
struct Request {
  std::variant<Conversation, RawPrompt> input;
  ResponseFormat format = {};
  ReasoningOptions reasoning = {};
  SamplingOptions sampling = {};
  std::uint32_t choices = 1;
  std::uint32_t candidates = 0;  // best of so many are told, by mean log-probability; 0 = choices
  std::optional<std::uint64_t> max_tokens = {};  // nothing: as many as the context holds
  std::uint64_t min_tokens = 0;
  std::vector<std::string> stop = {};  // of content: reasoning and calls are not searched
  std::vector<TokenId> stop_tokens = {};
  bool ignores_end = false;  // the model's own end tokens do not end an answer
  std::optional<std::uint32_t> top_log_probabilities = {};
  bool echoes_prompt = false;  // of a raw prompt: content begins with it
  std::string caller = {};
  std::int32_t priority = 0;
  std::optional<double> time_limit_seconds = {};
  bool uses_prefix_cache = true;
};

}  // namespace zllm
