#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <zllm/base/json.h>
#include <zllm/base/result.h>
#include <zllm/base/text.h>
#include <zllm/text/family/family.h>

namespace zllm::text::family {

// What a text must be.
struct TextRule {
  std::string content = {};  // a Lark expression of terminals; empty = anything
  bool may_be_empty = true;
};

// Puts the Lark text of a grammar of calls together. Its first failure stays until finish().
class GrammarWriter {
 public:
  GrammarWriter(const GrammarRequest& request, const SpecialSpellings& special)
      : request_(request), special_(special) {}

  const GrammarRequest& request() const { return request_; }
  bool is_special(std::string_view spelling) const { return special_.is_special(spelling); }

  // Expressions.
  // The text, control tokens among `tokens` or the whole text named as such.
  std::string marker(std::string_view text, const std::vector<std::string_view>& tokens = {});
  std::string space();  // a little of it or none
  std::string arguments(const Tool& tool);
  // A value of this schema as JSON; what the arguments' schema defines stands beside it.
  std::string value(const Json& arguments_schema, const Json& schema);
  // Text up to the marker, and that.
  std::string text_until(std::string_view end, const std::vector<std::string_view>& tokens = {},
                         const TextRule& rule = {});
  // Alternatives, one a tool.
  template <class F>
  std::string each_tool(F&& call_of) {
    std::string out;
    for (const Tool& tool : request_.tools) {
      out += out.empty() ? "" : " | ";
      out += define(concat("(", call_of(tool), ")"));
    }
    return define(out);
  }
  // One or, where parallel calls may be, several with `between`.
  std::string repeat(const std::string& call, const std::string& between);
  // A rule of its own.
  std::string define(std::string_view expression);

  Result<Json> schema_of(const Tool& tool) const;
  void fail(Error error);

  // The answer: `trigger` and `calls`, and before it text if the request lets it.
  Result<std::string> finish(std::string_view trigger, const std::string& calls);
  // The answer: `calls`, or text that does not begin as they do.
  Result<std::string> finish_bare(const std::string& calls, std::string_view first_character);
  Result<std::string> finish_with(const std::string& start);

 private:
  const GrammarRequest& request_;
  const SpecialSpellings& special_;
  std::string rules_;
  std::size_t count_ = 0;
  Status status_;
};

std::string lark_string(std::string_view text);
// A Lark pattern ends at its first bare slash.
std::string lark_pattern(std::string_view pattern);

}  // namespace zllm::text::family
