#include <zllm/text/family/input.h>

#include <utility>

namespace zllm::text::family {

void Input::append(std::string_view text) {
  if (!text.empty() && !ended_) {
    text_ += text;
    wake();
  }
}

void Input::end(Ending ending) {
  if (!ended_) {
    ended_ = true;
    ending_ = ending;
    wake();
  }
}

void Input::forget() {
  if (cursor_ * 2 >= text_.size()) {  // moving less than what falls away keeps the cost linear
    text_.erase(0, cursor_);
    forgotten_ += cursor_;
    cursor_ = 0;
  }
}

void Input::wake() {
  if (const std::coroutine_handle<> reader = std::exchange(reader_, nullptr)) {
    reader.resume();
  }
}

}  // namespace zllm::text::family
