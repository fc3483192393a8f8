#include <zllm/text/fence/lark_pattern.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include <zllm/base/json.h>
#include <zllm/base/text.h>
#include <zllm/base/utf8.h>
#include <zllm/text/fence/lark_words.h>
#include <zllm/text/fence/source_nesting.h>

namespace zllm::text {
namespace {

constexpr std::size_t kMaxGrammarBytes = std::size_t{64} << 10;
// Rules that are used often are written as often.
constexpr std::size_t kMaxPatternBytes = std::size_t{64} << 10;
constexpr std::size_t kMaxDepth = 64;  // of rules and brackets

// Of the library "common".
struct CommonTerminal {
  std::string_view name, pattern;
};
constexpr CommonTerminal kCommon[] = {
    {"CNAME", "[A-Za-z_][A-Za-z0-9_]*"},
    {"CR", "\\r"},
    {"DECIMAL", "(?:[0-9]+\\.[0-9]*|\\.[0-9]+)"},
    {"DIGIT", "[0-9]"},
    {"ESCAPED_STRING", "\"(?:[^\"\\\\\\n]|\\\\.)*\""},
    {"FLOAT", "(?:(?:[0-9]+\\.[0-9]*|\\.[0-9]+)(?:[eE][+-]?[0-9]+)?|[0-9]+[eE][+-]?[0-9]+)"},
    {"HEXDIGIT", "[0-9A-Fa-f]"},
    {"INT", "[0-9]+"},
    {"LCASE_LETTER", "[a-z]"},
    {"LETTER", "[A-Za-z]"},
    {"LF", "\\n"},
    {"NEWLINE", "(?:\\r?\\n)+"},
    {"NUMBER", "(?:[0-9]+(?:\\.[0-9]*)?|\\.[0-9]+)(?:[eE][+-]?[0-9]+)?"},
    {"SIGNED_FLOAT",
     "[+-]?(?:(?:[0-9]+\\.[0-9]*|\\.[0-9]+)(?:[eE][+-]?[0-9]+)?|[0-9]+[eE][+-]?[0-9]+)"},
    {"SIGNED_INT", "[+-]?[0-9]+"},
    {"SIGNED_NUMBER", "[+-]?(?:[0-9]+(?:\\.[0-9]*)?|\\.[0-9]+)(?:[eE][+-]?[0-9]+)?"},
    {"UCASE_LETTER", "[A-Z]"},
    {"WORD", "[A-Za-z]+"},
    {"WS", "[ \\t\\f\\r\\n]+"},
    {"WS_INLINE", "[ \\t]+"},
};

// What has to be put in brackets before something is put behind it.
enum class Binding : std::uint8_t { one, row, choice };

struct Pattern {
  std::string text = {};
  Binding binding = Binding::row;
};

std::string in_brackets(const Pattern& pattern, Binding most) {
  return pattern.binding <= most ? pattern.text : concat("(?:", pattern.text, ")");
}

std::string escaped(std::string_view text) {
  constexpr std::string_view kSigns = "\\^$.|?*+()[]{}";
  std::string out;
  for (const char c : text) {
    const std::string_view name = c == '\n' ? "\\n" : c == '\r' ? "\\r" : c == '\t' ? "\\t" : "";
    out += kSigns.find(c) != std::string_view::npos ? "\\" : "";
    out += name.empty() ? std::string(1, c) : std::string(name);
  }
  return out;
}

class LarkReader {
 public:
  Result<std::string> read(std::string_view grammar) {
    if (grammar.size() > kMaxGrammarBytes) {
      return Error{Code::invalid_argument, concat("the Lark grammar has ", grammar.size(),
                                                  " bytes, more than ", kMaxGrammarBytes)};
    }
    ZLLM_TRY(words_, lark_words(grammar));
    ZLLM_TRY(read_statements());
    if (!rules_.contains("start")) {
      return Error{Code::invalid_argument, "the Lark grammar has no rule 'start'"};
    }
    ZLLM_TRY(const Pattern pattern, rule("start", 0));
    return pattern.text;
  }

 private:
  const LarkWord& word() const { return words_[at_]; }
  bool is_sign(std::string_view text) const {
    return word().kind == LarkKind::sign && word().text == text;
  }
  bool take_sign(std::string_view text) {
    const bool is_it = is_sign(text);
    at_ += is_it ? 1U : 0U;
    return is_it;
  }
  Error refusal(std::string_view what) const {
    return Error{Code::invalid_argument,
                 concat("the Lark grammar ", what, " in line ", word().line)};
  }
  Error unexpected() const {
    const bool is_end = word().kind == LarkKind::line_end;
    return refusal(concat("has ", is_end ? "an end of line" : quote(word().text),
                          ", which does not belong there,"));
  }

  Status read_statements() {
    while (at_ < words_.size()) {
      if (word().kind == LarkKind::line_end) {
        ++at_;
      } else if (word().kind == LarkKind::directive) {
        ZLLM_TRY(read_import());
      } else {
        ZLLM_TRY(read_rule());
      }
    }
    return {};
  }

  Status read_rule() {
    while (is_sign("?") || is_sign("!")) {
      ++at_;
    }
    if (word().kind != LarkKind::name) {
      return unexpected();
    }
    const std::string name(word().text);
    ++at_;
    if (take_sign(".")) {  // a priority
      at_ += word().kind == LarkKind::number ? 1U : 0U;
    }
    if (!is_sign(":")) {
      return unexpected();
    }
    ++at_;
    if (common_.contains(name) || !rules_.emplace(name, at_).second) {
      return refusal(concat("has the rule ", quote(name), " twice, again"));
    }
    while (word().kind != LarkKind::line_end) {
      ++at_;
    }
    return {};
  }

  // %import common.A, %import common (A, B), either -> NAME.
  Status read_import() {
    if (word().text != "%import") {
      return refusal(concat("has ", quote(word().text), ", which is not supported,"));
    }
    ++at_;
    if (word().text != "common") {
      return refusal(concat("imports from ", quote(word().text), ", which is not supported,"));
    }
    ++at_;
    const bool is_list = take_sign("(");
    if (!is_list && !take_sign(".")) {
      return unexpected();
    }
    do {
      const std::string_view name = word().text;
      const auto known = std::ranges::find(kCommon, name, &CommonTerminal::name);
      if (known == std::end(kCommon)) {
        return refusal(concat("imports ", quote(name), ", which is not known here,"));
      }
      ++at_;
      std::string own(name);
      if (take_sign("->")) {
        if (word().kind != LarkKind::name) {
          return unexpected();
        }
        own = word().text;
        ++at_;
      }
      common_.emplace(std::move(own), known->pattern);
    } while (is_list && take_sign(","));
    if ((is_list && !take_sign(")")) || word().kind != LarkKind::line_end) {
      return unexpected();
    }
    return {};
  }

  // The rule's language; it stands where it is called.
  Result<Pattern> rule(const std::string& name, std::size_t depth) {
    if (const auto common = common_.find(name); common != common_.end()) {
      return Pattern{std::string(common->second), Binding::row};
    }
    if (const auto made = made_.find(name); made != made_.end()) {
      return made->second;
    }
    const auto begin = rules_.find(name);
    if (begin == rules_.end()) {
      return refusal(concat("refers to ", quote(name), ", which it does not have,"));
    }
    if (!open_.insert(name).second) {
      return refusal(
          concat("has the rule ", quote(name),
                 " within itself, which models cannot be held to here, with a call of it"));
    }
    const std::size_t back = std::exchange(at_, begin->second);
    ZLLM_TRY(Pattern pattern, choices(depth + 1));
    if (word().kind != LarkKind::line_end) {
      return unexpected();
    }
    at_ = back;
    open_.erase(name);
    made_.emplace(name, pattern);
    return pattern;
  }

  Result<Pattern> choices(std::size_t depth) {
    if (depth > kMaxDepth) {
      return refusal(concat("is nested deeper than ", kMaxDepth));
    }
    Pattern out;
    bool is_first = true;
    do {
      ZLLM_TRY(Pattern one, row(depth));
      if (is_first) {
        out = std::move(one);
      } else {
        out = {concat(out.text, "|", one.text), Binding::choice};
      }
      is_first = false;
      ZLLM_TRY(check_size(out));
    } while (take_sign("|"));
    return out;
  }

  Result<Pattern> row(std::size_t depth) {
    Pattern out;
    std::size_t count = 0;
    while (word().kind != LarkKind::line_end && !is_sign("|") && !is_sign(")") && !is_sign("]")) {
      if (take_sign("->")) {  // a name for the tree
        if (word().kind != LarkKind::name) {
          return unexpected();
        }
        ++at_;
        break;
      }
      ZLLM_TRY(const Pattern next, repeated(depth));
      out = count++ == 0
                ? next
                : Pattern{concat(in_brackets(out, Binding::row), in_brackets(next, Binding::row)),
                          Binding::row};
      ZLLM_TRY(check_size(out));
    }
    return out;
  }

  // After each part that is added, since a part may be as long as the whole may be.
  Status check_size(const Pattern& pattern) const {
    if (pattern.text.size() > kMaxPatternBytes) {
      return refusal(concat("is longer than ", kMaxPatternBytes,
                            " bytes once its rules are put into each other"));
    }
    return {};
  }

  Result<Pattern> repeated(std::size_t depth) {
    ZLLM_TRY(Pattern pattern, atom(depth));
    for (;;) {
      std::string times;
      if (is_sign("?") || is_sign("*") || is_sign("+")) {
        times = word().text;
        ++at_;
      } else if (take_sign("~")) {
        ZLLM_TRY(times, counts(".."));
      } else if (take_sign("{")) {
        ZLLM_TRY(times, counts(","));
        if (!take_sign("}")) {
          return unexpected();
        }
      } else {
        return pattern;
      }
      if (!pattern.text.empty()) {
        pattern = {concat(in_brackets(pattern, Binding::one), times), Binding::row};
      }
    }
  }

  Result<std::string> counts(std::string_view between) {
    std::string out = "{";
    if (word().kind != LarkKind::number) {
      return unexpected();
    }
    out += word().text;
    ++at_;
    if (take_sign(between)) {
      out += ",";
      if (word().kind == LarkKind::number) {
        out += word().text;
        ++at_;
      } else if (between == "..") {
        return unexpected();
      }
    }
    return out + "}";
  }

  Result<Pattern> atom(std::size_t depth) {
    const LarkWord first = word();
    ++at_;
    if (first.kind == LarkKind::name) {
      return rule(std::string(first.text), depth);
    }
    if (first.kind == LarkKind::text) {
      return text(first);
    }
    if (first.kind == LarkKind::regex) {
      return regex(first);
    }
    const bool is_option = first.text == "[";
    if (first.kind != LarkKind::sign || (first.text != "(" && !is_option)) {
      --at_;
      return unexpected();
    }
    ZLLM_TRY(Pattern inner, choices(depth + 1));
    if (!take_sign(is_option ? "]" : ")")) {
      return unexpected();
    }
    if (is_option && !inner.text.empty()) {
      inner = {concat(in_brackets(inner, Binding::one), "?"), Binding::row};
    }
    return inner;
  }

  Result<std::string> spelled(std::string_view quoted) const {
    std::string json;
    for (std::size_t i = 0; i < quoted.size(); ++i) {
      const bool is_escape = quoted[i] == '\\' && i + 1 < quoted.size();
      json += is_escape ? quoted.substr(i, 2) : quoted.substr(i, 1);
      i += is_escape ? 1U : 0U;
      if (is_escape && quoted[i] == 'x') {
        json.replace(json.size() - 1, 1, "u00");
      }
    }
    const auto parsed = Json::parse(json, "text");
    if (!parsed.ok() || parsed->as_string() == nullptr) {
      return refusal(concat("has the text ", quoted, ", which cannot be read,"));
    }
    return *parsed->as_string();
  }

  static bool is_character(std::string_view text) {
    return !text.empty() && utf8_sequence_length(text) == text.size();
  }

  Result<Pattern> text(const LarkWord& first) {
    const bool ignores_case = first.text.ends_with('i');
    const auto quoted = [](std::string_view all) { return all.substr(0, all.rfind('"') + 1); };
    ZLLM_TRY(const std::string begin, spelled(quoted(first.text)));
    if (!is_sign("..")) {
      std::string out = escaped(begin);
      const bool is_one = is_character(begin) || ignores_case;
      out = ignores_case && !out.empty() ? concat("(?i:", out, ")") : out;
      return Pattern{std::move(out), is_one ? Binding::one : Binding::row};
    }
    ++at_;
    if (word().kind != LarkKind::text) {
      return unexpected();
    }
    ZLLM_TRY(const std::string end, spelled(quoted(word().text)));
    if (!is_character(begin) || !is_character(end) || end < begin) {
      return refusal("has a range that is not of one character to a later one");
    }
    ++at_;
    const auto in_set = [](const std::string& character) {
      constexpr std::string_view kSigns = "^-&~";
      return concat(kSigns.find(character) != std::string_view::npos ? "\\" : "",
                    escaped(character));
    };
    return Pattern{concat("[", in_set(begin), "-", in_set(end), "]"), Binding::one};
  }

  Result<Pattern> regex(const LarkWord& whole) const {
    const std::size_t end = whole.text.rfind('/');
    const std::string_view flags = whole.text.substr(end + 1);
    if (flags.find_first_of("mx") != std::string_view::npos) {
      return refusal(
          concat("has the flags ", quote(flags), ", of which only i and s are supported,"));
    }
    std::string inner(whole.text.substr(1, end - 1));
    for (std::size_t at = inner.find("\\/"); at != std::string::npos; at = inner.find("\\/", at)) {
      // After an even number of backslashes the mark would have ended it.
      inner.erase(at, 1);
    }
    if (!check_whole_pattern(inner).ok()) {
      return refusal(concat("has the regular expression ", quote(inner), ", which is not whole,"));
    }
    const std::string set = concat(flags.find('i') != std::string_view::npos ? "i" : "",
                                   flags.find('s') != std::string_view::npos ? "s" : "");
    return Pattern{concat("(?", set, ":", inner, ")"), Binding::one};
  }

  std::vector<LarkWord> words_;
  std::size_t at_ = 0;
  std::map<std::string, std::size_t> rules_;  // where their choices begin
  std::map<std::string, std::string_view> common_;
  std::map<std::string, Pattern> made_;
  std::set<std::string> open_;
};

}  // namespace

Result<std::string> lark_pattern(std::string_view grammar) { return LarkReader().read(grammar); }

}  // namespace zllm::text
