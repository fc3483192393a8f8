#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include <zllm/base/result.h>
#include <zllm/base/strong.h>

namespace zllm::engine {

// A token program: what may come next in one answer, as a state machine over its tokens. Masks rows
// before a token is chosen, forces tokens that leave no choice, and can be taken back. One thread
// at a time; a clone is independent.
class Fence {
 public:
  virtual ~Fence() = default;

  virtual std::unique_ptr<Fence> clone() const = 0;
  // Bit i % 32 of word i / 32 says whether token i may come next; empty where every token may. End
  // tokens are allowed exactly where the answer may end. Valid until the next call.
  virtual Result<std::span<const std::uint32_t>> mask() = 0;
  // The tokens that must come next, in order, as far as there is one way on; does not advance.
  virtual Result<std::vector<TokenId>> forced() = 0;
  // Goes on by a token, which is no end token. One that may not come is refused and changes
  // nothing.
  virtual Status advance(TokenId token) = 0;
  // Takes the last tokens back.
  virtual Status rollback(std::size_t tokens) = 0;
  // Nothing may follow but the end.
  virtual bool is_finished() const = 0;
};

}  // namespace zllm::engine
