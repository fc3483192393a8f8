#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <vector>

#include <zllm/engine/prefix_tree.h>

namespace zllm::engine {
namespace {

using Entry = PrefixTree::Entry;
using Key = PrefixTree::Key;
using Tokens = std::vector<TokenId>;

std::uint64_t shared(const Tokens& a, const Tokens& b) {
  return static_cast<std::uint64_t>(std::ranges::mismatch(a, b).in1 - a.begin());
}

TEST(PrefixTree, FindsWhatSharesMostAndWhatIsAPrefix) {
  PrefixTree tree;
  const Tokens system = {1, 2, 3};
  const Tokens first = {1, 2, 3, 4, 5};
  const Tokens second = {1, 2, 3, 6};
  tree.insert({.tokens = first}, Entry(1));
  tree.insert({.tokens = second}, Entry(2));
  EXPECT_FALSE(tree.longest_prefix({.tokens = system}));
  EXPECT_EQ(tree.longest_shared({.tokens = system})->rows, 3u);
  tree.insert({.tokens = system}, Entry(3));
  EXPECT_EQ(*tree.find({.tokens = system}), Entry(3));
  const Tokens asked = {1, 2, 3, 4, 9};
  EXPECT_EQ(tree.longest_shared({.tokens = asked})->entry, Entry(1));
  EXPECT_EQ(tree.longest_shared({.tokens = asked})->rows, 4u);
  EXPECT_EQ(tree.longest_prefix({.tokens = asked})->entry, Entry(3));
  EXPECT_FALSE(tree.longest_shared({.kind = 1, .tokens = asked}));
  EXPECT_FALSE(tree.longest_shared({.tokens = Tokens{7}}));
  tree.erase(Entry(1));
  EXPECT_EQ(tree.longest_shared({.tokens = asked})->rows, 3u);
  EXPECT_EQ(tree.tokens(Entry(2)), second);
}

TEST(PrefixTree, TheLeastRecentIsTheOneThatWasNotTouched) {
  PrefixTree tree;
  tree.insert({.tokens = Tokens{1}}, Entry(1));
  tree.insert({.tokens = Tokens{2}}, Entry(2));
  tree.touch(Entry(1));
  EXPECT_EQ(*tree.least_recent(), Entry(2));
  tree.erase(Entry(2));
  EXPECT_EQ(*tree.least_recent(), Entry(1));
  tree.erase(Entry(1));
  EXPECT_FALSE(tree.least_recent());
}

TEST(PrefixTree, AnEntryOnAChainIsRedundantAndOneThatBranchesIsNot) {
  PrefixTree tree;
  const Tokens all = {1, 2, 3, 4, 5, 6, 7, 8};
  for (const std::uint64_t rows : {2u, 4u, 5u, 8u}) {
    tree.insert({.tokens = std::span(all).first(rows)}, Entry(rows));
  }
  EXPECT_EQ(*tree.most_redundant(), Entry(4));  // leaves a gap of 3 where the others leave 4
  tree.erase(Entry(4));
  EXPECT_EQ(*tree.most_redundant(), Entry(2));
  tree.insert({.tokens = Tokens{1, 2, 9}}, Entry(9));
  EXPECT_EQ(*tree.most_redundant(), Entry(5));
  tree.erase(Entry(5));
  EXPECT_FALSE(tree.most_redundant());
}

// Random trees over a small alphabet, next to a list of token strings.
class Schedule {
 public:
  explicit Schedule(std::uint32_t seed) : random_(seed) {}

  void step() {
    const std::uint64_t kind = random_() % 2;
    const Tokens tokens = draw();
    const auto known = std::ranges::find_if(plain_, [&](const auto& item) {
      return item.second.kind == kind && item.second.tokens == tokens;
    });
    const auto action = random_() % 4;
    if (action < 2 && known == plain_.end()) {
      const Entry entry(++next_);
      tree_.insert({.kind = kind, .tokens = tokens}, entry);
      plain_[entry] = {.kind = kind, .tokens = tokens, .used = ++clock_};
    } else if (action == 2 && !plain_.empty()) {
      auto& [entry, item] = *pick();
      tree_.touch(entry);
      item.used = ++clock_;
    } else if (action == 3 && !plain_.empty()) {
      const auto chosen = pick();
      tree_.erase(chosen->first);
      plain_.erase(chosen);
    }
  }

  void check() {
    const Key key{.kind = random_() % 2, .tokens = asked_ = draw()};
    std::uint64_t most = 0;
    std::optional<std::uint64_t> prefix;
    for (const auto& [entry, item] : plain_) {
      ASSERT_EQ(tree_.tokens(entry), item.tokens);
      ASSERT_EQ(tree_.kind(entry), item.kind);
      if (item.kind == key.kind) {
        const std::uint64_t rows = shared(item.tokens, asked_);
        most = std::max(most, rows);
        if (rows == item.tokens.size()) {
          prefix = std::max(prefix.value_or(0), rows);
        }
      }
    }
    expect_shared(key, most);
    const auto found = tree_.longest_prefix(key);
    ASSERT_EQ(found.has_value(), prefix.has_value());
    if (found) {
      ASSERT_EQ(found->rows, *prefix);
      ASSERT_EQ(tree_.rows(found->entry), *prefix);
    }
    ASSERT_EQ(tree_.size(), plain_.size());
    if (!plain_.empty()) {
      const auto oldest =
          std::ranges::min_element(plain_, {}, [](const auto& item) { return item.second.used; });
      ASSERT_EQ(*tree_.least_recent(), oldest->first);
    }
  }

 private:
  struct Item {
    std::uint64_t kind = 0;
    Tokens tokens;
    std::uint64_t used = 0;
  };

  void expect_shared(const Key& key, std::uint64_t most) {
    const auto match = tree_.longest_shared(key);
    ASSERT_EQ(match ? match->rows : 0, most);
    if (match) {
      const Item& item = plain_.at(match->entry);
      ASSERT_EQ(item.kind, key.kind);
      ASSERT_EQ(shared(item.tokens, asked_), most);
    }
  }

  Tokens draw() {
    Tokens tokens(1 + random_() % 7);
    for (TokenId& token : tokens) {
      token = static_cast<TokenId>(random_() % 2);
    }
    return tokens;
  }

  std::map<Entry, Item>::iterator pick() {
    return std::next(plain_.begin(), static_cast<long>(random_() % plain_.size()));
  }

  std::mt19937 random_;
  PrefixTree tree_;
  std::map<Entry, Item> plain_;
  Tokens asked_;
  std::uint64_t next_ = 0;
  std::uint64_t clock_ = 0;
};

TEST(PrefixTree, RandomSchedulesEqualAList) {
  for (std::uint32_t seed = 0; seed < 8; ++seed) {
    SCOPED_TRACE(seed);
    Schedule schedule(seed);
    for (int step = 0; step < 1000; ++step) {
      schedule.step();
      schedule.check();
      if (testing::Test::HasFatalFailure()) {
        return;
      }
    }
  }
}

}  // namespace
}  // namespace zllm::engine
