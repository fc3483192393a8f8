#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include <zllm/base/result.h>
#include <zllm/base/strong.h>
#include <zllm/text/family/output_parser.h>

namespace zllm::text::family {

// A function that a model may call.
struct Tool {
  std::string name;
  std::string description = {};
  // JSON schema text; empty = any object. For grammars such as FenceFactory::tool_schema makes.
  std::string parameters = {};
  bool is_strict = false;  // arguments must satisfy the schema
};

enum class CallRule : std::uint8_t {
  none,      // no calls
  optional,  // text, calls, or text and then calls
  required,  // at least one call, no text
};

struct GrammarRequest {
  std::span<const Tool> tools;  // those that may be called
  CallRule rule = CallRule::optional;
  bool allows_parallel = true;  // more than one call
};

// Spellings of tokens that a tokenizer has as one special token: grammars must name those.
class SpecialSpellings {
 public:
  virtual ~SpecialSpellings() = default;
  virtual bool is_special(std::string_view spelling) const = 0;
  // Grammars name tokens that are not spelled <...> by their id.
  virtual std::optional<TokenId> id_of(std::string_view /*spelling*/) const { return {}; }
};

struct ParserOptions {
  std::span<const Tool> tools = {};  // of the request; copied
  bool allows_calls = true;          // off: everything outside reasoning is content
  bool is_reasoning_open = false;    // the prompt ends inside reasoning
  bool separates_reasoning = true;   // off: reasoning stays in content as the model wrote it
};

// How one family of models writes: reasoning and tool calls. Immutable, thread-safe, lives for
// ever.
class Family {
 public:
  virtual ~Family() = default;

  virtual std::string_view name() const = 0;
  // Whether a chat template (jinja source) is one of this family's.
  virtual bool matches(std::string_view chat_template) const = 0;
  virtual std::unique_ptr<OutputParser> parser(const ParserOptions& options) const = 0;
  // The text that opens and closes reasoning; empty for families without.
  virtual std::string_view reasoning_begin() const = 0;
  virtual std::string_view reasoning_end() const = 0;
  // Lark text of everything after reasoning, for llguidance. Errors name the tool.
  virtual Result<std::string> grammar(const GrammarRequest& request,
                                      const SpecialSpellings& special) const = 0;
};

// By name, null when there is none of it.
const Family *find_family(std::string_view name);
// By the template; the generic family where none matches.
const Family& detect_family(std::string_view chat_template);
std::span<const Family *const> all_families();

// Whether a rendered prompt ends inside reasoning of the family.
bool is_reasoning_open(const Family& family, std::string_view rendered_prompt);

}  // namespace zllm::text::family
