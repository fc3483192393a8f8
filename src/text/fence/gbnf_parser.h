#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <zllm/base/result.h>

namespace zllm::text::gbnf {

enum class NodeKind : std::uint8_t { literal, characters, rule, sequence, choice, repetition };

constexpr std::uint32_t kUnbounded = 0xffffffff;

struct Node {
  NodeKind kind = NodeKind::sequence;
  std::vector<Node> children = {};
  std::u32string literal = {};
  std::vector<std::pair<char32_t, char32_t>> ranges = {};  // of characters, both ends within
  bool is_negated = false;
  std::size_t rule = 0;  // index
  std::uint32_t least = 0;
  std::uint32_t most = 0;
};

struct Rule {
  std::string name;
  Node body = {};
  bool is_defined = false;
  std::size_t line = 0;  // where it is defined, else first named
};

struct Grammar {
  std::vector<Rule> rules;
  std::size_t root = 0;
};

// Refuses grammars without a root and names without a rule.
Result<Grammar> parse(std::string_view source);

}  // namespace zllm::text::gbnf
