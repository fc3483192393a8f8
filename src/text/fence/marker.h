#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace zllm::text {

// A text to find in a stream of bytes, by Knuth, Morris and Pratt. A state is how many of its bytes
// the stream ends with; immutable.
class Marker {
 public:
  explicit Marker(std::string text);

  std::string_view text() const { return text_; }
  std::size_t size() const { return text_.size(); }
  // From a state below size() by one byte to the next state; size() is a find.
  std::size_t next(std::size_t state, char byte) const;

  struct Step {
    std::size_t state = 0;
    std::size_t used = 0;  // bytes, up to the end of the find
    bool is_found = false;
  };
  Step run(std::size_t state, std::string_view bytes) const;

 private:
  std::string text_;
  std::vector<std::size_t> border_;  // of each prefix: its longest end that the text begins with
};

}  // namespace zllm::text
