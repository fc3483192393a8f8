#include <zllm/text/family/markup_calls.h>

#include <optional>
#include <utility>

#include <zllm/base/json.h>
#include <zllm/base/text.h>
#include <zllm/text/family/call_name.h>
#include <zllm/text/family/json_scanner.h>

namespace zllm::text::family {
namespace {

constexpr std::size_t kKey = 0;  // of members_

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

}  // namespace

MarkupCalls::MarkupCalls(MarkupSyntax syntax) : syntax_(std::move(syntax)) {
  members_ = {syntax_.key_begin, syntax_.call_end};
  follows_ = members_;
  for (const Section& section : syntax_.sections) {
    begins_.push_back(section.begin);
    follows_.push_back(section.end);
  }
  begins_.push_back(syntax_.call_begin);
  inner_ = follows_;
  inner_.insert(inner_.end(),
                {syntax_.name_end, syntax_.key_end, syntax_.value_begin, syntax_.value_end});
  inner_.insert(inner_.end(), syntax_.tokens.begin(), syntax_.tokens.end());
}

Task<bool> MarkupCalls::read(CallContext context, std::size_t begin) const {
  Input *input = context.input;
  const bool is_section = begin < syntax_.sections.size();
  if (is_section) {
    co_await next_solid(input);
    const bool is_call = co_await take_marker(input, syntax_.call_begin);
    if (!is_call) {
      co_return false;
    }
  }
  bool has_called = false;
  std::size_t behind = input->position();
  bool has_more = true;
  while (has_more) {
    const Outcome outcome = co_await read_call(context);
    if (outcome == Outcome::broken) {
      co_return true;
    }
    if (outcome == Outcome::none) {
      break;
    }
    has_called = true;
    behind = input->position();
    co_await next_solid(input);
    has_more = co_await take_marker(input, syntax_.call_begin);
  }
  if (!has_called) {
    co_return false;
  }
  input->rewind(behind);
  co_await next_solid(input);
  for (const Section& section : syntax_.sections) {
    const bool is_end = co_await take_marker(input, section.end);
    if (is_end) {
      co_return true;
    }
  }
  input->rewind(behind);
  co_return true;
}

Task<MarkupCalls::Outcome> MarkupCalls::read_call(CallContext context) const {
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

Task<MarkupCalls::Outcome> MarkupCalls::read_members(CallContext context,
                                                     std::string_view name) const {
  Input *input = context.input;
  bool is_first = true;
  for (;;) {
    co_await next_solid(input);
    const std::optional<std::size_t> member = co_await next_marker(input, members_);
    if (member != kKey) {
      // Without an end of its own the call ends with its section or with the answer.
      const bool is_end = member || !input->rest().empty() || input->is_complete();
      if (is_end) {
        context.out->arguments("}");
      }
      input->skip(member ? syntax_.call_end.size() : 0);
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
    co_return false;
  }
  input->skip(syntax_.key_end.size());
  if (!syntax_.value_begin.empty()) {
    co_await next_solid(input);
    const bool has_value = co_await take_marker(input, syntax_.value_begin);
    if (!has_value) {
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
    const Copied copied = co_await copy_until(input, Markers(&syntax_.value_end, 1), margin, &sink);
    if (!copied.marker) {
      out->arguments(is_string ? "" : unfinished_value(value));
      co_return false;
    }
    const std::size_t end = input->position();
    const std::size_t size = copied.margin + syntax_.value_end.size();
    input->skip(size);
    const bool is_end = co_await value_ends(input);
    if (is_end) {
      out->arguments(is_string ? "\"" : typed_value(value, types));
      co_return true;
    }
    input->rewind(end);
    sink(input->rest().substr(0, size));
    input->skip(size);
  }
}

Task<bool> MarkupCalls::value_ends(Input *input) const {
  co_await next_solid(input);
  const std::optional<std::size_t> follower = co_await next_marker(input, follows_);
  co_return follower.has_value() || (input->ended() && input->rest().empty());
}

}  // namespace zllm::text::family
