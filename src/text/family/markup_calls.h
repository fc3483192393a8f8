#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <zllm/text/family/call_syntax.h>

namespace zllm::text::family {

struct Section {
  std::string_view begin;
  std::string_view end;
};

// Calls as markup: a name, then keys with values that are written without quotes:
//   call_begin NAME name_end (key_begin KEY key_end [value_begin] VALUE value_end)* call_end
// within one of the sections or without. White space may stand between all parts.
struct MarkupSyntax {
  std::vector<Section> sections = {};
  std::string_view call_begin;
  std::string_view name_end = {};  // empty: the first key or the end of the call ends the name
  std::string_view call_end;
  std::string_view key_begin;
  std::string_view key_end;
  std::string_view value_begin = {};
  std::string_view value_end;
  bool pads_values = false;                   // with a newline on either side
  std::vector<std::string_view> tokens = {};  // control tokens within the markers
};

// A name may be an attribute name="..", and string="true" or "false" may tell whether a value is a
// string; else the schema of the tool tells its type. A value ends at a value_end behind which the
// call goes on.
class MarkupCalls final : public CallSyntax {
 public:
  explicit MarkupCalls(MarkupSyntax syntax);

  Markers begins() const override { return begins_; }
  Markers inner() const override { return inner_; }
  Task<bool> read(CallContext context, std::size_t begin) const override;

 private:
  enum class Outcome : std::uint8_t { none, broken, whole };

  Task<Outcome> read_call(CallContext context) const;
  Task<Outcome> read_members(CallContext context, std::string_view name) const;
  Task<bool> read_member(CallContext context, std::string_view name, bool is_first) const;
  Task<bool> read_value(CallContext context, ValueTypes types) const;
  Task<bool> value_ends(Input *input) const;

  MarkupSyntax syntax_;
  std::vector<std::string_view> begins_;
  std::vector<std::string_view> inner_;
  std::vector<std::string_view> members_;  // key_begin, call_end: what comes within a call
  std::vector<std::string_view> follows_;  // what may come behind a value
};

}  // namespace zllm::text::family
