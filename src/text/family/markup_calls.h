#pragma once

#include <string_view>
#include <vector>

#include <zllm/text/family/section_calls.h>

namespace zllm::text::family {

// Calls as markup: a name, then keys with values that are written without quotes:
//   call_begin NAME name_end (key_begin KEY key_end [value_begin] VALUE value_end)* call_end
// White space may stand between all parts.
struct MarkupSyntax {
  std::string_view name_end = {};  // empty: the first key or the end of the call ends the name
  std::string_view key_begin;
  std::string_view key_end;
  std::string_view value_begin = {};
  std::string_view value_end;
  bool pads_values = false;  // with a newline on either side
};

// A name may be an attribute name="..", and string="true" or "false" may tell whether a value is a
// string; else the schema of the tool tells its type. A value ends at a value_end behind which the
// call goes on, or, where that is missing, at the end of a call behind which no text follows.
class MarkupCalls final : public SectionCalls {
 public:
  MarkupCalls(CallFrame frame, MarkupSyntax syntax);

 private:
  Task<Outcome> read_call(CallContext context) const override;
  Task<Outcome> read_members(CallContext context, std::string_view name) const;
  Task<bool> read_member(CallContext context, std::string_view name, bool is_first) const;
  Task<bool> read_value(CallContext context, ValueTypes types) const;
  Task<bool> value_ends(Input *input) const;
  Task<bool> call_ends(Input *input) const;

  MarkupSyntax syntax_;
  std::vector<std::string_view> members_;     // key_begin, call_end: what comes within a call
  std::vector<std::string_view> follows_;     // what may come behind a value
  std::vector<std::string_view> value_ends_;  // value_end, call_end
};

// <function=NAME> <parameter=KEY> VALUE </parameter> </function> within a section.
MarkupCalls function_calls(Section section);

}  // namespace zllm::text::family
