#include <zllm/engine/prefix_tree.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include <zllm/base/check.h>

namespace zllm::engine {

// Every node but a root has an entry or at least two children.
struct PrefixTree::Node {
  Node *parent = nullptr;
  std::uint64_t kind = 0;
  std::uint64_t rows = 0;  // tokens from the root to the end of the edge
  std::vector<TokenId> edge;
  std::map<TokenId, std::unique_ptr<Node>> children;
  std::optional<Entry> entry;
};

PrefixTree::PrefixTree() = default;
PrefixTree::~PrefixTree() = default;

PrefixTree::Point PrefixTree::walk(const Key& key) const {
  const auto root = roots_.find(key.kind);
  if (root == roots_.end()) {
    return {};
  }
  Point point{.node = root->second.get()};
  while (point.matched == point.node->edge.size() && point.rows < key.tokens.size()) {
    const auto child = point.node->children.find(key.tokens[point.rows]);
    if (child == point.node->children.end()) {
      break;
    }
    const std::vector<TokenId>& edge = child->second->edge;
    const auto rest = key.tokens.subspan(point.rows);
    const auto ends = std::ranges::mismatch(edge, rest);
    point.node = child->second.get();
    point.matched = static_cast<std::uint64_t>(ends.in1 - edge.begin());
    point.rows += point.matched;
  }
  return point;
}

// Cuts a node's edge; gives the new node that ends there.
PrefixTree::Node& PrefixTree::split(Node& node, std::uint64_t at) {
  std::unique_ptr<Node>& slot = node.parent->children.at(node.edge.front());
  auto upper = std::make_unique<Node>();
  const auto cut = node.edge.begin() + static_cast<std::ptrdiff_t>(at);
  upper->parent = node.parent;
  upper->kind = node.kind;
  upper->rows = node.rows - (node.edge.size() - at);
  upper->edge.assign(node.edge.begin(), cut);
  node.edge.erase(node.edge.begin(), cut);
  node.parent = upper.get();
  upper->children.emplace(node.edge.front(), std::exchange(slot, nullptr));
  slot = std::move(upper);
  return *slot;
}

void PrefixTree::insert(const Key& key, Entry entry) {
  std::unique_ptr<Node>& root = roots_[key.kind];
  if (!root) {
    root = std::make_unique<Node>();
    root->kind = key.kind;
  }
  const Point point = walk(key);
  Node *node = point.node;
  if (point.matched < node->edge.size()) {
    node = &split(*node, point.matched);
  }
  if (point.rows < key.tokens.size()) {
    const auto rest = key.tokens.subspan(point.rows);
    auto leaf = std::make_unique<Node>();
    leaf->parent = node;
    leaf->kind = key.kind;
    leaf->rows = key.tokens.size();
    leaf->edge.assign(rest.begin(), rest.end());
    node = node->children.emplace(rest.front(), std::move(leaf)).first->second.get();
  }
  ZLLM_CHECK(!node->entry && !places_.contains(entry), "a prefix that is in the tree already");
  node->entry = entry;
  places_.emplace(entry, Place{.node = node, .use = by_use_.insert(by_use_.end(), entry)});
}

// Makes a node without an entry and its only child one.
void PrefixTree::join(Node& node) {
  std::unique_ptr<Node> child = std::move(node.children.begin()->second);
  node.children = std::move(child->children);
  for (auto& [token, grandchild] : node.children) {
    grandchild->parent = &node;
  }
  node.edge.insert(node.edge.end(), child->edge.begin(), child->edge.end());
  node.rows = child->rows;
  node.entry = child->entry;
}

// Restores what holds for every node after this one lost its entry.
void PrefixTree::prune(Node& node) {
  if (node.parent == nullptr) {
    if (node.children.empty()) {
      roots_.erase(node.kind);
    }
    return;
  }
  if (node.entry || node.children.size() > 1) {
    return;
  }
  if (node.children.size() == 1) {
    join(node);
    if (node.entry) {
      places_.at(*node.entry).node = &node;
    }
    return;
  }
  Node& parent = *node.parent;
  parent.children.erase(node.edge.front());
  prune(parent);
}

void PrefixTree::erase(Entry entry) {
  const auto place = places_.find(entry);
  ZLLM_CHECK(place != places_.end(), "erase of a prefix that is not in the tree");
  Node& node = *place->second.node;
  by_use_.erase(place->second.use);
  places_.erase(place);
  node.entry.reset();
  prune(node);
}

void PrefixTree::touch(Entry entry) {
  by_use_.splice(by_use_.end(), by_use_, places_.at(entry).use);
}

std::optional<PrefixTree::Match> PrefixTree::longest_shared(const Key& key) const {
  const Point point = walk(key);
  if (point.rows == 0) {
    return {};
  }
  const Node *node = point.node;
  while (!node->entry) {
    node = node->children.begin()->second.get();
  }
  return Match{.entry = *node->entry, .rows = point.rows};
}

std::optional<PrefixTree::Match> PrefixTree::longest_prefix(const Key& key) const {
  const Point point = walk(key);
  const Node *node = point.node;
  if (node != nullptr && point.matched < node->edge.size()) {
    node = node->parent;
  }
  while (node != nullptr && !node->entry) {
    node = node->parent;
  }
  return node == nullptr ? std::nullopt
                         : std::optional(Match{.entry = *node->entry, .rows = node->rows});
}

std::optional<PrefixTree::Entry> PrefixTree::find(const Key& key) const {
  const auto match = longest_prefix(key);
  return match && match->rows == key.tokens.size() ? std::optional(match->entry) : std::nullopt;
}

std::optional<PrefixTree::Entry> PrefixTree::least_recent() const {
  return by_use_.empty() ? std::nullopt : std::optional(by_use_.front());
}

// The next node with an entry below where all entries below follow one.
const PrefixTree::Node *PrefixTree::only_entry_below(const Node& node) {
  if (node.children.size() != 1) {
    return nullptr;
  }
  const Node& child = *node.children.begin()->second;
  return child.entry ? &child : nullptr;
}

std::optional<PrefixTree::Entry> PrefixTree::most_redundant() const {
  std::optional<Entry> best;
  std::uint64_t least = 0;
  for (const Entry entry : by_use_) {
    const Node& node = *places_.at(entry).node;
    const Node *const below = only_entry_below(node);
    if (below == nullptr) {
      continue;
    }
    const Node *above = node.parent;
    while (above != nullptr && !above->entry) {
      above = above->parent;
    }
    const std::uint64_t gap = below->rows - (above == nullptr ? 0 : above->rows);
    if (!best || gap < least) {
      best = entry;
      least = gap;
    }
  }
  return best;
}

std::vector<TokenId> PrefixTree::tokens(Entry entry) const {
  const Node *node = places_.at(entry).node;
  std::vector<TokenId> tokens(node->rows);
  for (; node->parent != nullptr; node = node->parent) {
    std::ranges::copy(node->edge,
                      tokens.begin() + static_cast<std::ptrdiff_t>(node->rows - node->edge.size()));
  }
  return tokens;
}

std::uint64_t PrefixTree::kind(Entry entry) const { return places_.at(entry).node->kind; }
std::uint64_t PrefixTree::rows(Entry entry) const { return places_.at(entry).node->rows; }

}  // namespace zllm::engine
