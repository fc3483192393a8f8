#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>

// Integers that must not be mistaken for each other.
namespace zllm {

template <class Tag, class Value>
class Strong {
 public:
  using value_type = Value;

  constexpr Strong() = default;
  constexpr explicit Strong(Value value) : value_(value) {}
  constexpr Value value() const { return value_; }
  constexpr auto operator<=>(const Strong&) const = default;

 private:
  Value value_{};
};

using TokenId = std::int32_t;  // an index into the vocabulary; plain, since arrays of ids are data

using LayerId = Strong<struct LayerIdTag, std::uint32_t>;        // 0-based, absolute in the model
using SequenceId = Strong<struct SequenceIdTag, std::uint64_t>;  // never reused within a model
using PageId = Strong<struct PageIdTag, std::uint32_t>;          // a slot of a page pool
using SlotId = Strong<struct SlotIdTag, std::uint32_t>;          // a slot of recurrent state

}  // namespace zllm

template <class Tag, class Value>
struct std::hash<zllm::Strong<Tag, Value>> {
  std::size_t operator()(const zllm::Strong<Tag, Value>& strong) const noexcept {
    return std::hash<Value>{}(strong.value());
  }
};
