#include <zllm/engine/prefix_file.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include <zllm/base/checked.h>

namespace zllm::engine {
namespace {

constexpr std::uint64_t kMagic = 0x787066656C6C7A01U;
// Counts changes of this format and of how any backend lays out pages and slots.
constexpr std::uint64_t kVersion = 1;

// The numbers at a file's start.
enum Field : std::size_t {
  magic,
  version,
  kind,
  expected_rows,
  rows,
  identity_bytes,
  state_bytes,
  state_checksum,
  head_checksum,  // of all before it, the identity and the tokens
  count,
};
using Fields = std::array<std::uint64_t, Field::count>;

// Against damage, not against malice: every step is a bijection of the sum for a given word and of
// the word for a given sum, so that one wrong word always shows.
class Checksum {
 public:
  void add(std::span<const std::byte> bytes) {
    while (!bytes.empty()) {
      std::uint64_t word = 0;
      const std::size_t taken = bytes.size() < sizeof(word) ? bytes.size() : sizeof(word);
      std::memcpy(&word, bytes.data(), taken);
      sum_ = std::rotl((sum_ ^ word) * 0x9E3779B97F4A7C15U, 29);
      bytes = bytes.subspan(taken);
    }
  }
  void add(std::uint64_t number) { add(std::as_bytes(std::span(&number, 1))); }

  std::uint64_t value() const { return (sum_ ^ (sum_ >> 32)) * 0xD6E8FEB86659FD93U; }

 private:
  std::uint64_t sum_ = 0x243F6A8885A308D3U;
};

std::uint64_t checksum(std::span<const std::byte> bytes) {
  Checksum sum;
  sum.add(bytes);
  return sum.value();
}

std::uint64_t checksum_of_head(const Fields& fields, std::span<const std::byte> rest) {
  Checksum sum;
  sum.add(std::as_bytes(std::span(fields).first(Field::head_checksum)));
  sum.add(rest);
  return sum.value();
}

struct Parts {
  Fields fields;
  std::span<const std::byte> identity;
  std::span<const std::byte> tokens;
  std::span<const std::byte> state;
};

std::optional<Parts> split(std::span<const std::byte> file) {
  Parts parts;
  if (file.size() < sizeof(Fields)) {
    return {};
  }
  std::memcpy(parts.fields.data(), file.data(), sizeof(Fields));
  const auto rest = file.subspan(sizeof(Fields));
  const Fields& fields = parts.fields;
  const auto token_bytes = checked_multiply<std::uint64_t>(fields[Field::rows], sizeof(TokenId));
  const auto named =
      token_bytes ? checked_add(fields[Field::identity_bytes], *token_bytes) : std::nullopt;
  const auto whole = named ? checked_add(*named, fields[Field::state_bytes]) : std::nullopt;
  if (fields[Field::magic] != kMagic || fields[Field::version] != kVersion || !whole ||
      *whole != rest.size() ||
      fields[Field::head_checksum] != checksum_of_head(fields, rest.first(*named))) {
    return {};
  }
  parts.identity = rest.first(fields[Field::identity_bytes]);
  parts.tokens = rest.subspan(parts.identity.size(), *token_bytes);
  parts.state = rest.subspan(*named);
  return parts;
}

}  // namespace

std::vector<std::byte> prefix_file_head(const PrefixFileHead& head,
                                        std::span<const std::byte> state) {
  Fields fields{};
  fields[Field::magic] = kMagic;
  fields[Field::version] = kVersion;
  fields[Field::kind] = head.kind;
  fields[Field::expected_rows] = head.expected_rows;
  fields[Field::rows] = head.tokens.size();
  fields[Field::identity_bytes] = head.identity.size();
  fields[Field::state_bytes] = state.size();
  fields[Field::state_checksum] = checksum(state);
  const auto tokens = std::as_bytes(std::span(head.tokens));
  const auto identity = std::as_bytes(std::span(head.identity));
  std::vector<std::byte> bytes(sizeof(Fields) + identity.size() + tokens.size());
  const auto rest = std::span(bytes).subspan(sizeof(Fields));
  std::ranges::copy(identity, rest.begin());
  std::ranges::copy(tokens, rest.subspan(identity.size()).begin());
  fields[Field::head_checksum] = checksum_of_head(fields, rest);
  std::memcpy(bytes.data(), fields.data(), sizeof(Fields));
  return bytes;
}

std::optional<PrefixFileHead> parse_prefix_head(std::span<const std::byte> file) {
  const auto parts = split(file);
  if (!parts) {
    return {};
  }
  PrefixFileHead head{.identity = std::string(parts->identity.size(), '\0'),
                      .kind = parts->fields[Field::kind],
                      .expected_rows = parts->fields[Field::expected_rows],
                      .tokens = std::vector<TokenId>(parts->fields[Field::rows])};
  if (!parts->identity.empty()) {
    std::memcpy(head.identity.data(), parts->identity.data(), parts->identity.size());
  }
  if (!parts->tokens.empty()) {
    std::memcpy(head.tokens.data(), parts->tokens.data(), parts->tokens.size());
  }
  return head;
}

std::optional<runtime::SequenceSnapshot> parse_prefix_file(std::span<const std::byte> file) {
  const auto parts = split(file);
  if (!parts || checksum(parts->state) != parts->fields[Field::state_checksum]) {
    return {};
  }
  return runtime::SequenceSnapshot{.rows = parts->fields[Field::rows],
                                   .expected_rows = parts->fields[Field::expected_rows],
                                   .bytes = {parts->state.begin(), parts->state.end()}};
}

std::uint64_t prefix_hash(const PrefixFileHead& head) {
  Checksum sum;
  sum.add(head.identity.size());
  sum.add(std::as_bytes(std::span(head.identity)));
  sum.add(head.kind);
  sum.add(std::as_bytes(std::span(head.tokens)));
  return sum.value();
}

}  // namespace zllm::engine
