#include <zllm/text/json_strings.h>

#include <algorithm>

#include <zllm/base/json.h>

namespace zllm::text {
namespace {

// Where the literal ends that starts with a quote: behind its last one.
std::size_t literal_end(std::string_view json, std::size_t start) {
  std::size_t at = start + 1;
  while (at < json.size() && json[at] != '"') {
    at += json[at] == '\\' ? 2U : 1U;
  }
  return std::min(at + 1, json.size());
}

bool is_key(std::string_view json, std::size_t end) {
  const std::size_t next = json.find_first_not_of(" \t\r\n", end);
  return next < json.size() && json[next] == ':';
}

Result<std::string> text_of(std::string_view literal) {
  ZLLM_TRY(const Json value, Json::parse(literal, "a string of the request"));
  if (value.as_string() == nullptr) {
    return Error{Code::invalid_argument, "the request is no JSON"};
  }
  return *value.as_string();
}

}  // namespace

Result<std::string> map_json_strings(std::string_view json,
                                     const std::function<bool(std::string_view)>& is_mapped,
                                     const std::function<std::string(std::string_view)>& map) {
  std::string out;
  out.reserve(json.size());
  std::size_t depth = 0;
  bool maps = false;
  for (std::size_t at = 0; at < json.size();) {
    const char c = json[at];
    if (c != '"') {
      depth += c == '{' || c == '[' ? 1U : 0U;
      depth -= (c == '}' || c == ']') && depth > 0 ? 1U : 0U;
      out += c;
      ++at;
      continue;
    }
    const std::size_t end = literal_end(json, at);
    const std::string_view literal = json.substr(at, end - at);
    at = end;
    const bool names = is_key(json, end);
    if (!names && !maps) {
      out += literal;
      continue;
    }
    if (names && depth != 1) {
      out += literal;
      continue;
    }
    ZLLM_TRY(const std::string text, text_of(literal));
    if (names) {
      maps = is_mapped(text);
      out += literal;
      continue;
    }
    const std::string mapped = map(text);
    if (mapped == text) {
      out += literal;
    } else {
      append_json_string(out, mapped);
    }
  }
  return out;
}

}  // namespace zllm::text
