#include <zllm/text/fence/gbnf_parser.h>

#include <charconv>
#include <string>
#include <unordered_map>

#include <zllm/base/text.h>
#include <zllm/base/utf8.h>
#include <zllm/text/fence/gbnf.h>

namespace zllm::text::gbnf {
namespace {

bool is_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
         c == '_';
}

class Parser {
 public:
  explicit Parser(std::string_view source) : source_(source) {}
  Result<Grammar> parse();

 private:
  Error error(std::string_view what) const {
    return Error{Code::invalid_argument, concat("the GBNF grammar, line ", line_, ": ", what)};
  }
  char peek() const { return at_ < source_.size() ? source_[at_] : '\0'; }
  bool is_done() const { return at_ >= source_.size(); }
  char next() {
    const char c = source_[at_++];
    line_ += c == '\n' ? 1 : 0;
    return c;
  }
  void skip_space(bool over_lines);
  bool starts_alternative();
  std::string_view name();
  std::size_t rule_named(std::string_view name);
  Status parse_rule();
  Result<Node> parse_choice(std::size_t nesting);
  Result<Node> parse_sequence(std::size_t nesting);
  Result<Node> parse_item(std::size_t nesting);
  Result<Node> parse_literal();
  Result<Node> parse_characters();
  Result<char32_t> parse_character();
  Result<char32_t> parse_escape();
  Result<Node> parse_repetition(Node item);
  Result<std::uint32_t> parse_count();

  std::string_view source_;
  std::size_t at_ = 0;
  std::size_t line_ = 1;
  Grammar grammar_;
  std::unordered_map<std::string, std::size_t> rules_;
};

void Parser::skip_space(bool over_lines) {
  while (!is_done()) {
    if (peek() == '#') {
      while (!is_done() && peek() != '\n') {
        next();
      }
    } else if (peek() == ' ' || peek() == '\t' ||
               (over_lines && (peek() == '\n' || peek() == '\r'))) {
      next();
    } else {
      return;
    }
  }
}

// Whether the rule goes on with "|" on a later line.
bool Parser::starts_alternative() {
  const std::size_t at = at_;
  const std::size_t line = line_;
  skip_space(true);
  if (peek() == '|') {
    return true;
  }
  at_ = at;
  line_ = line;
  return false;
}

std::string_view Parser::name() {
  const std::size_t start = at_;
  while (is_name(peek())) {
    next();
  }
  return source_.substr(start, at_ - start);
}

std::size_t Parser::rule_named(std::string_view name) {
  const auto [it, is_new] = rules_.try_emplace(std::string(name), grammar_.rules.size());
  if (is_new) {
    grammar_.rules.push_back({.name = std::string(name), .line = line_});
  }
  return it->second;
}

Result<Grammar> Parser::parse() {
  for (skip_space(true); !is_done(); skip_space(true)) {
    ZLLM_TRY(parse_rule());
    if (grammar_.rules.size() > kMaxGbnfRules) {
      return error(concat("there are more than ", kMaxGbnfRules, " rules"));
    }
  }
  for (const Rule& rule : grammar_.rules) {
    if (!rule.is_defined) {
      line_ = rule.line;
      return error(concat("there is no rule ", quote(rule.name)));
    }
  }
  const auto root = rules_.find("root");
  if (root == rules_.end()) {
    return Error{Code::invalid_argument, "the GBNF grammar has no rule 'root'"};
  }
  grammar_.root = root->second;
  return std::move(grammar_);
}

Status Parser::parse_rule() {
  const std::string_view name = this->name();
  if (name.empty()) {
    return error(concat("a rule's name is expected, not ", quote(source_.substr(at_, 1))));
  }
  skip_space(false);
  if (source_.substr(at_, 3) != "::=") {
    return error(concat("'::=' is expected after ", quote(name)));
  }
  at_ += 3;
  const std::size_t index = rule_named(name);
  if (grammar_.rules[index].is_defined) {
    return error(concat("there is a second rule ", quote(name)));
  }
  grammar_.rules[index].is_defined = true;
  skip_space(true);
  ZLLM_TRY(Node body, parse_choice(0));
  grammar_.rules[index].body = std::move(body);
  skip_space(false);
  if (!is_done() && peek() != '\n' && peek() != '\r') {
    return error(concat(quote(source_.substr(at_, 1)), " is not expected here"));
  }
  return {};
}

Result<Node> Parser::parse_choice(std::size_t nesting) {
  if (nesting > kMaxGbnfNesting) {
    return error(concat("parentheses are nested deeper than ", kMaxGbnfNesting));
  }
  Node choice{.kind = NodeKind::choice};
  while (true) {
    ZLLM_TRY(Node sequence, parse_sequence(nesting));
    choice.children.push_back(std::move(sequence));
    if (peek() != '|' && !starts_alternative()) {
      return choice;
    }
    next();
    skip_space(true);
  }
}

Result<Node> Parser::parse_sequence(std::size_t nesting) {
  Node sequence{.kind = NodeKind::sequence};
  while (true) {
    skip_space(nesting > 0);
    const char c = peek();
    if (c != '"' && c != '[' && c != '(' && c != '.' && !is_name(c)) {
      if (c == '<') {
        return error("tokens by name or number are not supported");
      }
      if (c == '*' || c == '+' || c == '?' || c == '{') {
        return error(concat(quote(std::string_view(&c, 1)), " follows nothing that it can repeat"));
      }
      return sequence;
    }
    ZLLM_TRY(Node item, parse_item(nesting));
    ZLLM_TRY(item, parse_repetition(std::move(item)));
    sequence.children.push_back(std::move(item));
  }
}

Result<Node> Parser::parse_item(std::size_t nesting) {
  switch (peek()) {
    case '"':
      return parse_literal();
    case '[':
      return parse_characters();
    case '.':
      next();
      return Node{.kind = NodeKind::characters, .is_negated = true};
    case '(': {
      next();
      skip_space(true);
      ZLLM_TRY(Node inner, parse_choice(nesting + 1));
      skip_space(true);
      if (peek() != ')') {
        return error("')' is expected");
      }
      next();
      return inner;
    }
    default:
      return Node{.kind = NodeKind::rule, .rule = rule_named(name())};
  }
}

Result<Node> Parser::parse_literal() {
  next();
  Node node{.kind = NodeKind::literal};
  while (peek() != '"') {
    if (is_done() || peek() == '\n') {
      return error("a literal does not end");
    }
    ZLLM_TRY(const char32_t c, parse_character());
    node.literal.push_back(c);
  }
  next();
  return node;
}

Result<Node> Parser::parse_characters() {
  next();
  Node node{.kind = NodeKind::characters};
  if (peek() == '^') {
    next();
    node.is_negated = true;
  }
  while (peek() != ']') {
    if (is_done() || peek() == '\n') {
      return error("a set of characters does not end");
    }
    ZLLM_TRY(const char32_t first, parse_character());
    char32_t last = first;
    if (peek() == '-' && at_ + 1 < source_.size() && source_[at_ + 1] != ']') {
      next();
      ZLLM_TRY(last, parse_character());
    }
    if (last < first) {
      return error("a range of characters ends before it starts");
    }
    node.ranges.emplace_back(first, last);
  }
  next();
  if (node.ranges.empty() && !node.is_negated) {
    return error("a set of characters is empty");
  }
  return node;
}

Result<char32_t> Parser::parse_character() {
  if (is_done()) {
    return error("a character is expected");
  }
  if (peek() == '\\') {
    return parse_escape();
  }
  const std::size_t length = utf8_sequence_length(source_.substr(at_));
  const auto byte = [&](std::size_t i) {
    return static_cast<char32_t>(static_cast<unsigned char>(source_[at_ + i]));
  };
  char32_t c = byte(0);
  if (length > 1) {
    c &= 0xffU >> (length + 1);
    for (std::size_t i = 1; i < length; ++i) {
      c = (c << 6U) | (byte(i) & 0x3fU);
    }
  }
  at_ += length;
  return c;
}

Result<char32_t> Parser::parse_escape() {
  next();
  const char c = is_done() ? '\0' : next();
  std::size_t digits = 0;
  switch (c) {
    case 'n':
      return U'\n';
    case 'r':
      return U'\r';
    case 't':
      return U'\t';
    case '\\':
    case '"':
    case '[':
    case ']':
    case '^':
    case '-':
      return static_cast<char32_t>(c);
    case 'x':
      digits = 2;
      break;
    case 'u':
      digits = 4;
      break;
    case 'U':
      digits = 8;
      break;
    default:
      return error(concat("there is no escape ", quote(concat("\\", std::string_view(&c, 1)))));
  }
  char32_t value = 0;
  for (; digits > 0; --digits) {
    std::uint32_t digit = 0;
    const std::string_view text = source_.substr(at_, 1);
    const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), digit, 16);
    if (text.empty() || end == text.data()) {
      return error("an escape has too few hexadecimal digits");
    }
    value = value * 16 + digit;
    ++at_;
  }
  if (value > 0x10ffff || (value >= 0xd800 && value < 0xe000)) {
    return error("an escape is no character");
  }
  return value;
}

Result<Node> Parser::parse_repetition(Node item) {
  std::uint32_t least = 0;
  std::uint32_t most = kUnbounded;
  switch (peek()) {
    case '*':
      break;
    case '+':
      least = 1;
      break;
    case '?':
      most = 1;
      break;
    case '{': {
      next();
      ZLLM_TRY(least, parse_count());
      most = least;
      if (peek() == ',') {
        next();
        skip_space(false);
        most = kUnbounded;
        if (peek() != '}') {
          ZLLM_TRY(most, parse_count());
        }
      }
      if (peek() != '}' || most < least) {
        return error("a repetition is {m}, {m,} or {m,n} with m <= n");
      }
      break;
    }
    default:
      return item;
  }
  next();
  Node node{.kind = NodeKind::repetition, .least = least, .most = most};
  node.children.push_back(std::move(item));
  return parse_repetition(std::move(node));
}

Result<std::uint32_t> Parser::parse_count() {
  skip_space(false);
  const std::size_t start = at_;
  while (peek() >= '0' && peek() <= '9') {
    next();
  }
  std::uint32_t count = 0;
  if (!parse_number(source_.substr(start, at_ - start), count) || count > kMaxGbnfRepetitions) {
    return error(concat("a repetition needs a count of at most ", kMaxGbnfRepetitions));
  }
  skip_space(false);
  return count;
}

}  // namespace

Result<Grammar> parse(std::string_view source) {
  if (!is_valid_utf8(source)) {
    return Error{Code::invalid_argument, "the GBNF grammar is not valid UTF-8"};
  }
  return Parser(source).parse();
}

}  // namespace zllm::text::gbnf
