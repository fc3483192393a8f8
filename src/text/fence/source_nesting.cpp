#include <zllm/text/fence/source_nesting.h>

#include <algorithm>

#include <zllm/base/text.h>

namespace zllm::text {
namespace {

// Where a piece that ends with a quote ends; a backslash takes the next byte along.
std::size_t skip_quoted(std::string_view source, std::size_t start, char quote) {
  std::size_t at = start + 1;
  while (at < source.size() && source[at] != quote && source[at] != '\n') {
    at += source[at] == '\\' ? 2U : 1U;
  }
  return std::min(at, source.size());
}

class Depth {
 public:
  // Whether it is still within bounds.
  bool add(char c) {
    if (c == '(' || c == '[' || c == '{') {
      ++depth_;
    } else if ((c == ')' || c == ']' || c == '}') && depth_ > 0) {
      --depth_;
    }
    return depth_ <= kMaxSourceNesting;
  }

 private:
  std::size_t depth_ = 0;
};

Error too_deep(std::string_view what) {
  return Error{Code::invalid_argument,
               concat(what, " has brackets nested deeper than ", kMaxSourceNesting)};
}

}  // namespace

Status check_regex_nesting(std::string_view pattern) {
  Depth depth;
  bool is_in_set = false;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    const char c = pattern[i];
    if (c == '\\') {
      ++i;
      continue;
    }
    // Within a set only brackets of sets nest.
    is_in_set = c == '[' || (is_in_set && c != ']');
    if ((!is_in_set || c == '[') && !depth.add(c)) {
      return too_deep("the regular expression");
    }
  }
  return {};
}

Status check_lark_nesting(std::string_view grammar) {
  Depth depth;
  for (std::size_t i = 0; i < grammar.size(); ++i) {
    const char c = grammar[i];
    if (c == '"') {
      i = skip_quoted(grammar, i, '"');
    } else if (grammar.substr(i, 2) == "//" || c == '#') {
      i = std::min(grammar.find('\n', i), grammar.size());
    } else if (c == '/') {
      const std::size_t end = skip_quoted(grammar, i, '/');
      ZLLM_TRY(check_regex_nesting(grammar.substr(i, end - i)));
      i = end;
    } else if (!depth.add(c)) {
      return too_deep("the Lark grammar");
    }
  }
  return {};
}

Status check_whole_pattern(std::string_view pattern) {
  const auto refusal = [](std::string_view what) {
    return Error{Code::invalid_argument, concat("the regular expression ", what)};
  };
  std::size_t open = 0;
  bool is_in_set = false;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    const char c = pattern[i];
    if (c == '\\' && ++i == pattern.size()) {
      return refusal("ends with a backslash that escapes nothing");
    }
    if (!is_in_set && c == '[') {
      is_in_set = true;
      i += pattern.substr(i + 1, 1) == "^" ? 1U : 0U;
      i += pattern.substr(i + 1, 1) == "]" ? 1U : 0U;  // a first one is of the set
    } else if (is_in_set) {
      is_in_set = c != ']';
    } else if (c == '(') {
      ++open;
    } else if (c == ')' && open-- == 0) {
      return refusal("closes a group that is not open");
    }
  }
  if (is_in_set) {
    return refusal("does not close a set");
  }
  return open == 0 ? Status() : refusal("does not close a group");
}

}  // namespace zllm::text
