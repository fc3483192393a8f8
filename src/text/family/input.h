#pragma once

#include <coroutine>
#include <cstddef>
#include <string>
#include <string_view>

#include <zllm/text/family/output_parser.h>

namespace zllm::text::family {

// The text of an answer as far as it has come, with a cursor. Everything behind the last forget()
// can be read again.
class Input {
 public:
  struct More {
    Input& input;
    bool await_ready() const { return input.ended_; }
    void await_suspend(std::coroutine_handle<> reader) const { input.reader_ = reader; }
    void await_resume() const {}
  };

  // Both let the waiting reader go on.
  void append(std::string_view text);
  void end(Ending ending);

  // What lies behind the cursor. Views are good until the next append, rewind or forget.
  std::string_view rest() const { return std::string_view(text_).substr(cursor_); }
  void skip(std::size_t bytes) { cursor_ += bytes; }
  // Bytes of the whole answer before the cursor.
  std::size_t position() const { return forgotten_ + cursor_; }
  void rewind(std::size_t position) { cursor_ = position - forgotten_; }
  // Text before the cursor will not be read again.
  void forget();

  // Waits for more text or the end; at the end it does not wait.
  More more() { return More{*this}; }
  bool ended() const { return ended_; }
  // The answer ended because the model was done.
  bool is_complete() const { return ended_ && ending_ == Ending::complete; }

 private:
  void wake();

  std::string text_;
  std::size_t cursor_ = 0;
  std::size_t forgotten_ = 0;
  bool ended_ = false;
  Ending ending_ = Ending::complete;
  std::coroutine_handle<> reader_ = {};
};

}  // namespace zllm::text::family
