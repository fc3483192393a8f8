#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <zllm/base/strong.h>
#include <zllm/runtime/sequence_states.h>

// One cached prefix as bytes: numbers in the machine's order, the model's identity, the tokens, the
// exported state. Two checksums let the state be trusted only when it is read.
namespace zllm::engine {

struct PrefixFileHead {
  std::string identity;
  std::uint64_t kind = 0;
  std::uint64_t expected_rows = 0;
  std::vector<TokenId> tokens;  // as many as the state has rows

  bool operator==(const PrefixFileHead&) const = default;
};

// What comes before the state in its file.
std::vector<std::byte> prefix_file_head(const PrefixFileHead& head,
                                        std::span<const std::byte> state);

// The head of a whole file; nothing where any byte before the state, or the file's size, is wrong.
std::optional<PrefixFileHead> parse_prefix_head(std::span<const std::byte> file);

// Nothing where any byte of the file is wrong.
std::optional<runtime::SequenceSnapshot> parse_prefix_file(std::span<const std::byte> file);

// Of what was cached, whatever its state; the same on every machine of one byte order.
std::uint64_t prefix_hash(const PrefixFileHead& head);

}  // namespace zllm::engine
