#include <zllm/text/family/markup_calls.h>

#include <algorithm>
#include <optional>
#include <utility>

#include <zllm/base/json.h>
#include <zllm/base/text.h>
#include <zllm/text/family/call_name.h>
#include <zllm/text/family/json_scanner.h>

namespace zllm::text::family {
namespace {

constexpr std::size_t kKey = 0;       // of members_
constexpr std::size_t kValueEnd = 0;  // of value_ends_

std::optional<std::string_view> attribute(std::string_view tag, std::string_view name_and_quote) {
  const std::size_t at = tag.find(name_and_quote);
  if (at == std::string_view::npos) {
    return std::nullopt;
  }
  const std::string_view value = tag.substr(at + name_and_quote.size());
  return value.substr(0, value.find('"'));
}

std::string tag_name(std::string_view tag) {
  if (const auto name = attribute(tag, "name=\"")) {
    return std::string(*name);
  }
  std::string_view name = trimmed(tag);
  if (name.size() >= 2 && name.front() == name.back() && (name[0] == '"' || name[0] == '\'')) {
    name = name.substr(1, name.size() - 2);
  }
  return std::string(name);
}

std::string escaped(std::string_view text) {
  std::string quoted;
  append_json_string(quoted, text);
  return quoted.substr(1, quoted.size() - 2);
}

// What stands for a value that the end of the answer cut: a beginning of valid JSON in any case.
std::string unfinished_value(std::string_view text) {
  JsonScanner scanner;
  std::string json;
  JsonScanner::Status status = scanner.add('[', json);
  json.clear();
  for (const char c : text) {
    status = status == JsonScanner::Status::open ? scanner.add(c, json) : status;
  }
  return status == JsonScanner::Status::open ? json : concat("\"", escaped(text));
}

CallFrame with_markers(CallFrame frame, const MarkupSyntax& syntax) {
  frame.within.insert(frame.within.end(), {syntax.name_end, syntax.key_begin, syntax.key_end,
                                           syntax.value_begin, syntax.value_end});
  return frame;
}

// An answer that was cut within a marker: it is no text.
void drop_cut_marker(Input *input, Markers markers) {
  const std::string_view rest = input->rest();
  const bool is_cut = input->ended() && !input->is_complete();
  if (is_cut && std::any_of(markers.begin(), markers.end(),
                            [&](std::string_view marker) { return marker.starts_with(rest); })) {
    input->skip(rest.size());
  }
}

// The same within a header that began.
void drop_cut_header(Input *input) {
  if (input->ended() && !input->is_complete() && input->rest().size() <= kMaxHeaderBytes) {
    input->skip(input->rest().size());
  }
}

}  // namespace

MarkupCalls::MarkupCalls(CallFrame frame, MarkupSyntax syntax)
    : SectionCalls(with_markers(std::move(frame), syntax)),
      syntax_(syntax),
      members_({syntax.key_begin, this->frame().call_end}),
      follows_(members_),
      value_ends_({syntax.value_end, this->frame().call_end}) {
  for (const Section& section : this->frame().sections) {
    follows_.push_back(section.end);
  }
}

MarkupCalls function_calls(Section section) {
  return {{.sections = {section}, .call_begin = "<function=", .call_end = "</function>"},
          {.name_end = ">",
           .key_begin = "<parameter=",
           .key_end = ">",
           .value_end = "</parameter>",
           .pads_values = true}};
}

Task<SectionCalls::Outcome> MarkupCalls::read_call(CallContext context) const {
  Input *input = context.input;
  const Markers name_end =
      syntax_.name_end.empty() ? Markers(members_) : Markers(&syntax_.name_end, 1);
  const std::optional<std::string> tag = co_await read_header(input, name_end);
  const std::string name = tag ? tag_name(*tag) : std::string();
  if (!is_call_name(name)) {
    co_return Outcome::none;
  }
  input->skip(syntax_.name_end.size());
  co_await next_solid(input);
  const std::optional<std::size_t> member = co_await next_marker(input, members_);
  if (!member) {
    co_return Outcome::none;
  }
  context.out->begin_call(name);
  context.out->arguments("{");
  const Outcome outcome = co_await read_members(context, name);
  context.out->end_call();
  co_return outcome;
}

Task<SectionCalls::Outcome> MarkupCalls::read_members(CallContext context,
                                                      std::string_view name) const {
  Input *input = context.input;
  bool is_first = true;
  for (;;) {
    co_await next_solid(input);
    const std::optional<std::size_t> member = co_await next_marker(input, members_);
    if (member != kKey) {
      if (!member) {
        drop_cut_marker(input, members_);
      }
      // Without an end of its own the call ends with its section or with the answer.
      const bool is_end = member || !input->rest().empty() || input->is_complete();
      if (is_end) {
        context.out->arguments("}");
      }
      input->skip(member ? frame().call_end.size() : 0);
      co_return is_end ? Outcome::whole : Outcome::broken;
    }
    const std::size_t begin = input->position();
    const bool is_whole = co_await read_member(context, name, is_first);
    if (!is_whole) {
      if (!input->ended() || !input->rest().empty()) {
        input->rewind(begin);
      }
      co_return Outcome::broken;
    }
    is_first = false;
  }
}

Task<bool> MarkupCalls::read_member(CallContext context, std::string_view name,
                                    bool is_first) const {
  Input *input = context.input;
  input->skip(syntax_.key_begin.size());
  const std::optional<std::string> tag = co_await read_header(input, Markers(&syntax_.key_end, 1));
  if (!tag) {
    drop_cut_header(input);
    co_return false;
  }
  input->skip(syntax_.key_end.size());
  if (!syntax_.value_begin.empty()) {
    co_await next_solid(input);
    const bool has_value = co_await take_marker(input, syntax_.value_begin);
    if (!has_value) {
      drop_cut_marker(input, Markers(&syntax_.value_begin, 1));
      co_return false;
    }
  }
  const std::string key = tag_name(*tag);
  ValueTypes types = context.tools->types(name, key);
  if (const auto is_string = attribute(*tag, "string=\"")) {
    types = *is_string == "true" ? kStringType : static_cast<ValueTypes>(kAnyType & ~kStringType);
  }
  std::string json = is_first ? "" : ",";
  append_json_string(json, key);
  context.out->arguments(json + ":");
  const bool is_whole = co_await read_value(context, types);
  co_return is_whole;
}

Task<bool> MarkupCalls::read_value(CallContext context, ValueTypes types) const {
  Input *input = context.input;
  PieceWriter *out = context.out;
  const bool is_string = types == kStringType;
  std::string value;  // of another type: known at its end
  const Sink sink = [&value, out, is_string](std::string_view text) {
    if (is_string) {
      out->arguments(escaped(text));
    } else {
      value += text;
    }
  };
  if (syntax_.pads_values) {
    co_await take_marker(input, "\n");
  }
  if (is_string) {
    out->arguments("\"");
  }
  const Margin margin = syntax_.pads_values ? one_newline_margin : no_margin;
  for (;;) {
    const Copied copied = co_await copy_until(input, value_ends_, margin, &sink);
    if (!copied.marker) {
      out->arguments(is_string ? "" : unfinished_value(value));
      co_return false;
    }
    const std::size_t end = input->position();
    const std::size_t size = copied.margin + value_ends_[*copied.marker].size();
    input->skip(size);
    bool is_end = false;
    if (*copied.marker == kValueEnd) {
      is_end = co_await value_ends(input);
    } else {
      is_end = co_await call_ends(input);
      input->rewind(end);
    }
    if (is_end) {
      out->arguments(is_string ? "\"" : typed_value(value, types));
      co_return true;
    }
    input->rewind(end);
    sink(input->rest().substr(0, size));
    input->skip(size);
  }
}

// The cursor is behind call_end.
Task<bool> MarkupCalls::call_ends(Input *input) const {
  co_await next_solid(input);
  co_await take_section_end(input);
  co_await next_solid(input);
  const std::optional<std::size_t> next = co_await next_marker(input, begins());
  co_return next.has_value() || (input->ended() && input->rest().empty());
}

Task<bool> MarkupCalls::value_ends(Input *input) const {
  co_await next_solid(input);
  const std::optional<std::size_t> follower = co_await next_marker(input, follows_);
  if (!follower) {
    drop_cut_marker(input, follows_);
  }
  co_return follower.has_value() || (input->ended() && input->rest().empty());
}

}  // namespace zllm::text::family
