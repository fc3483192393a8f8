#pragma once

#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include <zllm/base/strong.h>

namespace zllm::engine {

// The token strings of cached prefixes as a radix tree, together with the order of their last use.
// Each entry is named by the caller and ends at its own place. Strings of different kinds share
// nothing. Not thread-safe.
class PrefixTree {
 public:
  using Entry = Strong<struct PrefixEntryTag, std::uint64_t>;

  struct Key {
    std::uint64_t kind = 0;
    std::span<const TokenId> tokens = {};
  };
  struct Match {
    Entry entry;
    std::uint64_t rows = 0;  // tokens that the entry shares with the key
  };

  PrefixTree();
  ~PrefixTree();

  // A new entry, used last. Neither it nor the key is in the tree already.
  void insert(const Key& key, Entry entry);
  void erase(Entry entry);
  void touch(Entry entry);  // used last

  // The entry whose tokens share most with the key: at least one token. Of several the same one
  // as long as no other is inserted or erased.
  std::optional<Match> longest_shared(const Key& key) const;
  // The longest entry that the key starts with.
  std::optional<Match> longest_prefix(const Key& key) const;
  std::optional<Entry> find(const Key& key) const;

  std::optional<Entry> least_recent() const;
  // The entry that is missed least: just one entry follows it, its distance from the one before to
  // the one behind is the least, and of such it is the least recent.
  std::optional<Entry> most_redundant() const;

  std::vector<TokenId> tokens(Entry entry) const;
  std::uint64_t kind(Entry entry) const;
  std::uint64_t rows(Entry entry) const;
  const std::list<Entry>& by_use() const { return by_use_; }  // least recent first
  std::size_t size() const { return by_use_.size(); }
  bool contains(Entry entry) const { return places_.contains(entry); }

 private:
  struct Node;
  struct Place {
    Node *node;
    std::list<Entry>::iterator use;
  };
  // Where the walk along a key ends: `matched` tokens of `node`'s edge are the key's last ones.
  struct Point {
    Node *node = nullptr;
    std::uint64_t matched = 0;
    std::uint64_t rows = 0;
  };

  Point walk(const Key& key) const;
  static Node& split(Node& node, std::uint64_t at);
  static void join(Node& node);
  void prune(Node& node);
  static const Node *only_entry_below(const Node& node);

  std::map<std::uint64_t, std::unique_ptr<Node>> roots_;
  std::list<Entry> by_use_;
  std::unordered_map<Entry, Place> places_;
};

}  // namespace zllm::engine
