#include <zllm/text/fence/gbnf.h>

#include <array>
#include <charconv>
#include <cstdint>
#include <vector>

#include <zllm/base/text.h>
#include <zllm/text/fence/gbnf_parser.h>

namespace zllm::text {
namespace {

using gbnf::Node;
using gbnf::NodeKind;

// Rules that do not come back to themselves are regular and become terminals, which the grammar's
// lexer follows exactly whatever they share; so do the longest regular stretches of the others.
class Translator {
 public:
  explicit Translator(const gbnf::Grammar& grammar) : grammar_(grammar) {}
  std::string translate();

 private:
  void find_irregular();
  void find_nullable();
  bool is_regular(const Node& node) const;
  bool may_be_empty(const Node& node) const;
  std::string terminal(const Node& node) const;
  std::string rule(const Node& node);
  std::string sequence(const Node& node);
  std::string stretch(const std::string& terminals, bool may_be_empty);

  const gbnf::Grammar& grammar_;
  std::vector<bool> is_irregular_;
  std::vector<bool> is_nullable_;
  std::string stretches_;  // definitions
  std::size_t stretch_count_ = 0;
};

void name_rules(const Node& node, std::vector<std::size_t>& out) {
  if (node.kind == NodeKind::rule) {
    out.push_back(node.rule);
  }
  for (const Node& child : node.children) {
    name_rules(child, out);
  }
}

// A rule is regular when all that it names is; what is left in the end leads to a circle.
void Translator::find_irregular() {
  std::vector<std::vector<std::size_t>> users(grammar_.rules.size());
  std::vector<std::size_t> open(grammar_.rules.size());
  std::vector<std::size_t> regular;
  for (std::size_t i = 0; i < grammar_.rules.size(); ++i) {
    std::vector<std::size_t> named;
    name_rules(grammar_.rules[i].body, named);
    open[i] = named.size();
    for (const std::size_t rule : named) {
      users[rule].push_back(i);
    }
    if (named.empty()) {
      regular.push_back(i);
    }
  }
  is_irregular_.assign(grammar_.rules.size(), true);
  while (!regular.empty()) {
    const std::size_t rule = regular.back();
    regular.pop_back();
    is_irregular_[rule] = false;
    for (const std::size_t user : users[rule]) {
      if (--open[user] == 0) {
        regular.push_back(user);
      }
    }
  }
}

void Translator::find_nullable() {
  is_nullable_.assign(grammar_.rules.size(), false);
  for (bool has_changed = true; has_changed;) {
    has_changed = false;
    for (std::size_t i = 0; i < grammar_.rules.size(); ++i) {
      if (!is_nullable_[i] && may_be_empty(grammar_.rules[i].body)) {
        is_nullable_[i] = true;
        has_changed = true;
      }
    }
  }
}

bool Translator::is_regular(const Node& node) const {
  if (node.kind == NodeKind::rule) {
    return !is_irregular_[node.rule];
  }
  for (const Node& child : node.children) {
    if (!is_regular(child)) {
      return false;
    }
  }
  return true;
}

bool Translator::may_be_empty(const Node& node) const {
  switch (node.kind) {
    case NodeKind::literal:
      return node.literal.empty();
    case NodeKind::characters:
      return false;
    case NodeKind::rule:
      return is_nullable_[node.rule];
    case NodeKind::repetition:
      return node.least == 0 || may_be_empty(node.children.front());
    case NodeKind::sequence:
      for (const Node& child : node.children) {
        if (!may_be_empty(child)) {
          return false;
        }
      }
      return true;
    case NodeKind::choice:
      break;
  }
  for (const Node& child : node.children) {
    if (may_be_empty(child)) {
      return true;
    }
  }
  return false;
}

std::string escaped(char32_t c) {
  std::array<char, 8> digits{};
  const auto [end, code] =
      std::to_chars(digits.data(), digits.data() + digits.size(), std::uint32_t{c}, 16);
  return concat("\\x{", std::string_view(digits.data(), end), "}");
}

std::string characters(const Node& node) {
  if (node.ranges.empty()) {
    return "/(?s:.)/";
  }
  std::string out = node.is_negated ? "/[^" : "/[";
  for (const auto& [first, last] : node.ranges) {
    out += concat(escaped(first), "-", escaped(last));
  }
  return out + "]/";
}

std::string repetition(const Node& node) {
  if (node.most == gbnf::kUnbounded) {
    return concat("{", node.least, ",}");
  }
  return concat("{", node.least, ",", node.most, "}");
}

std::string Translator::terminal(const Node& node) const {
  std::string out;
  switch (node.kind) {
    case NodeKind::literal:
      for (const char32_t c : node.literal) {
        out += escaped(c);
      }
      return out.empty() ? "\"\"" : concat("/", out, "/");
    case NodeKind::characters:
      return characters(node);
    case NodeKind::rule:
      return concat("T", node.rule);
    case NodeKind::repetition:
      return concat("(", terminal(node.children.front()), ")", repetition(node));
    case NodeKind::sequence:
    case NodeKind::choice:
      break;
  }
  if (node.children.empty()) {
    return "\"\"";
  }
  for (const Node& child : node.children) {
    out += out.empty() ? "" : node.kind == NodeKind::choice ? " | " : " ";
    out += terminal(child);
  }
  return concat("(", out, ")");
}

// Terminals of a grammar are never empty, so the empty text is a choice beside them.
std::string Translator::stretch(const std::string& terminals, bool may_be_empty) {
  const std::string name = concat("S", stretch_count_++);
  stretches_ += may_be_empty ? concat(name, ": (", terminals, ") & /(?s:.+)/\n")
                             : concat(name, ": ", terminals, "\n");
  return may_be_empty ? name + "?" : name;
}

std::string Translator::sequence(const Node& node) {
  std::string out;
  for (std::size_t i = 0; i < node.children.size();) {
    out += out.empty() ? "" : " ";
    if (!is_regular(node.children[i])) {
      out += rule(node.children[i++]);
      continue;
    }
    std::string terminals;
    bool is_empty = true;
    for (; i < node.children.size() && is_regular(node.children[i]); ++i) {
      terminals += terminals.empty() ? "" : " ";
      terminals += terminal(node.children[i]);
      is_empty = is_empty && may_be_empty(node.children[i]);
    }
    out += stretch(terminals, is_empty);
  }
  return out.empty() ? "\"\"" : out;
}

std::string Translator::rule(const Node& node) {
  if (is_regular(node)) {
    return stretch(terminal(node), may_be_empty(node));
  }
  switch (node.kind) {
    case NodeKind::rule:
      return concat("r", node.rule);
    case NodeKind::repetition:
      return concat("(", rule(node.children.front()), ")", repetition(node));
    case NodeKind::sequence:
      return concat("(", sequence(node), ")");
    default:
      break;
  }
  std::string out;
  for (const Node& child : node.children) {
    out += out.empty() ? "" : " | ";
    out += rule(child);
  }
  return concat("(", out, ")");
}

std::string Translator::translate() {
  find_irregular();
  find_nullable();
  std::string rules =
      concat("start: ", rule(Node{.kind = NodeKind::rule, .rule = grammar_.root}), "\n");
  for (std::size_t i = 0; i < grammar_.rules.size(); ++i) {
    const Node& body = grammar_.rules[i].body;
    rules += is_irregular_[i] ? concat("r", i, ": ", rule(body), "\n")
                              : concat("T", i, ": ", terminal(body), "\n");
  }
  return rules + stretches_;
}

}  // namespace

Result<std::string> gbnf_to_lark(std::string_view source) {
  ZLLM_TRY(const gbnf::Grammar grammar, gbnf::parse(source));
  return Translator(grammar).translate();
}

}  // namespace zllm::text
