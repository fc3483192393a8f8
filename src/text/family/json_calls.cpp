#include <zllm/text/family/json_calls.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include <zllm/base/json.h>
#include <zllm/text/family/call_name.h>
#include <zllm/text/family/json_scanner.h>

namespace zllm::text::family {
namespace {

// Reads one object, array or string as valid JSON, piece by piece. False where it breaks.
Task<bool> read_json(Input *input, const Sink *sink) {
  JsonScanner scanner;
  JsonScanner::Status status = JsonScanner::Status::open;
  for (;;) {
    const std::string_view rest = input->rest();
    std::string json;
    std::size_t read = 0;
    while (read < rest.size() && status == JsonScanner::Status::open) {
      status = scanner.add(rest[read], json);
      read += status == JsonScanner::Status::broken ? 0 : 1;
    }
    input->skip(read);
    (*sink)(json);
    if (status != JsonScanner::Status::open || input->ended()) {
      co_return status == JsonScanner::Status::complete;
    }
    co_await input->more();
  }
}

// Any value; numbers and literals as they stand. Nothing where it breaks.
Task<std::optional<std::string>> read_value(Input *input) {
  const char first = co_await next_solid(input);
  std::string value;
  if (first == '{' || first == '[' || first == '"') {
    const Sink sink = [&value](std::string_view json) { value += json; };
    const bool is_whole = co_await read_json(input, &sink);
    if (!is_whole) {
      co_return std::nullopt;
    }
    co_return value;
  }
  for (;;) {
    const std::string_view rest = input->rest();
    const std::size_t size = rest.find_first_of(",}] \t\r\n");
    value += rest.substr(0, size);
    input->skip(std::min(size, rest.size()));
    if (size != std::string_view::npos || input->ended()) {
      break;
    }
    co_await input->more();
  }
  if (!Json::parse(value, "value").ok()) {
    co_return std::nullopt;
  }
  co_return value;
}

std::optional<std::string> string_of(std::string_view json) {
  const Result<Json> value = Json::parse(json, "string");
  if (!value.ok() || value->as_string() == nullptr) {
    return std::nullopt;
  }
  return *value->as_string();
}

// What stands for arguments: an object, the text of one in a string, or nothing at all.
std::optional<std::string> object_of(std::string json) {
  const Result<Json> value = Json::parse(json, "arguments");
  if (value.ok() && value->is_null()) {
    return "{}";
  }
  if (json.starts_with('{')) {
    return json;
  }
  if (!value.ok() || value->as_string() == nullptr) {
    return std::nullopt;
  }
  const std::string& text = *value->as_string();
  if (trimmed(text).empty()) {
    return "{}";
  }
  const Result<Json> inner = Json::parse(text, "arguments");
  if (!inner.ok() || inner->as_object() == nullptr) {
    return std::nullopt;
  }
  return text;
}

class JsonCall {
 public:
  enum class Outcome : std::uint8_t { none, broken, whole };

  JsonCall(CallContext context, JsonCallRules rules) : context_(context), rules_(rules) {}

  // The cursor is at the opening brace.
  Task<Outcome> read() {
    Input *input = context_.input;
    char next = '{';
    do {
      input->skip(1);
      next = co_await next_solid(input);
      if (next == '}' && !has_members_) {
        break;
      }
      const bool is_member = co_await read_member();
      if (!is_member) {
        co_return failed();
      }
      has_members_ = true;
      next = co_await next_solid(input);
    } while (next == ',');
    if (next != '}') {
      co_return failed();
    }
    input->skip(1);
    co_return end();
  }

 private:
  Outcome failed() {
    if (is_begun_) {
      return Outcome::broken;
    }
    if (rules_.holds_arguments && input_ended() && arguments_ && may_begin()) {
      return end();
    }
    return Outcome::none;
  }
  bool input_ended() const { return context_.input->ended() && context_.input->rest().empty(); }

  bool may_begin() const {
    return !name_.empty() && (!rules_.only_known || context_.tools->has(name_));
  }

  Outcome end() {
    if (!is_begun_) {
      if (!may_begin() || (rules_.only_known && !arguments_)) {
        return Outcome::none;
      }
      context_.out->begin_call(name_, id_);
      context_.out->arguments(arguments_.value_or("{}"));
      context_.out->end_call();
    }
    return Outcome::whole;
  }

  Task<bool> read_member() {
    Input *input = context_.input;
    if (!input->rest().starts_with('"')) {
      co_return false;
    }
    const std::optional<std::string> quoted = co_await read_value(input);
    const std::optional<std::string> key = quoted ? string_of(*quoted) : std::nullopt;
    const char colon = co_await next_solid(input);
    if (!key || colon != ':') {
      co_return false;
    }
    input->skip(1);
    const char first = co_await next_solid(input);
    const bool is_arguments = *key == "arguments" || *key == "parameters";
    if (is_arguments && first == '{' && may_begin() && !rules_.holds_arguments && !is_begun_) {
      is_begun_ = true;
      context_.out->begin_call(name_, id_);
      const bool is_whole = co_await read_arguments(context_);
      co_return is_whole;
    }
    std::optional<std::string> value = co_await read_value(input);
    if (!value) {
      co_return false;
    }
    if (is_arguments) {
      arguments_ = object_of(*std::move(value));
      co_return arguments_.has_value();
    }
    if (*key == "name" && !is_begun_) {
      name_ = string_of(*value).value_or("");
      co_return !name_.empty();
    }
    if (*key == "id") {
      id_ = string_of(*value).value_or("");
    }
    co_return true;
  }

  CallContext context_;
  JsonCallRules rules_;
  bool has_members_ = false;
  bool is_begun_ = false;
  std::string name_;
  std::string id_;
  std::optional<std::string> arguments_;
};

// The end of calls, a brace too many or an array's end before it. Reads nothing where it is not
// there.
Task<bool> take_end(Input *input, std::string_view end) {
  const std::size_t begin = input->position();
  for (;;) {
    const char next = co_await next_solid(input);
    if (next != '}' && next != ']') {
      break;
    }
    input->skip(1);
  }
  bool is_end = false;
  if (!end.empty()) {
    is_end = co_await take_marker(input, end);
  }
  if (!is_end) {
    input->rewind(begin);
  }
  co_return is_end;
}

}  // namespace

Task<bool> read_arguments(CallContext context) {
  PieceWriter *out = context.out;
  const Sink sink = [out](std::string_view json) { out->arguments(json); };
  const bool is_whole = co_await read_json(context.input, &sink);
  out->end_call();
  co_return is_whole;
}

Task<bool> read_json_calls(CallContext context, JsonCallRules rules) {
  Input *input = context.input;
  char next = co_await next_solid(input);
  const bool is_array = next == '[';
  if (is_array) {
    input->skip(1);
    next = co_await next_solid(input);
  }
  bool has_called = false;
  std::size_t behind = input->position();
  while (next == '{') {
    JsonCall call(context, rules);
    const JsonCall::Outcome outcome = co_await call.read();
    if (outcome == JsonCall::Outcome::broken) {
      co_await take_end(input, rules.end);  // only the braces around the arguments may lack
      co_return true;
    }
    if (outcome == JsonCall::Outcome::none) {
      input->rewind(behind);
      co_return has_called;
    }
    has_called = true;
    behind = input->position();
    next = co_await next_solid(input);
    if (next == ',' || next == ';') {
      input->skip(1);
      next = co_await next_solid(input);
    }
  }
  if (!has_called) {
    co_return false;
  }
  if (is_array && next == ']') {
    input->skip(1);
    behind = input->position();
  }
  input->rewind(behind);
  co_await take_end(input, rules.end);
  co_return true;
}

}  // namespace zllm::text::family
