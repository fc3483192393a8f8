#include <zllm/text/fence/marker.h>

namespace zllm::text {

Marker::Marker(std::string text) : text_(std::move(text)), border_(text_.size() + 1, 0) {
  for (std::size_t i = 1; i < text_.size(); ++i) {
    border_[i + 1] = next(border_[i], text_[i]);
  }
}

std::size_t Marker::next(std::size_t state, char byte) const {
  while (state > 0 && text_[state] != byte) {
    state = border_[state];
  }
  return !text_.empty() && text_[state] == byte ? state + 1 : 0;
}

Marker::Step Marker::run(std::size_t state, std::string_view bytes) const {
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    state = next(state, bytes[i]);
    if (state == text_.size()) {
      return {.state = state, .used = i + 1, .is_found = true};
    }
  }
  return {.state = state, .used = bytes.size(), .is_found = false};
}

}  // namespace zllm::text
