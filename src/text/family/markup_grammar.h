#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <zllm/text/family/grammar_writer.h>

namespace zllm::text::family {

// How a call is written as markup; NAME and KEY stand for the names.
struct MarkupCallForm {
  std::string_view call_begin;  // up to the name
  std::string_view name_end;    // behind it
  std::string_view call_end;
  std::string_view key_begin;     // up to a key
  std::string_view string_begin;  // between a key and its value
  std::string_view value_begin;   // the same for values that are no strings
  std::string_view value_end;
  std::vector<std::string_view> tokens = {};  // control tokens within these
};

// One call of the tool: strings are text up to the end of the value, all else is JSON.
std::string markup_call(GrammarWriter& writer, const Tool& tool, const MarkupCallForm& form);

}  // namespace zllm::text::family
