#include "line_reader.h"

#include <poll.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include <zllm/base/text.h>

#include "output.h"

namespace zllm::cli {

bool LineReader::is_interactive() { return isatty(STDIN_FILENO) != 0; }

// Waits for bytes and appends them; `line` stands for "some came".
Result<InputKind> LineReader::fill() {
  std::array<pollfd, 2> files = {pollfd{.fd = STDIN_FILENO, .events = POLLIN, .revents = 0},
                                 pollfd{.fd = signals_.wakeup(), .events = POLLIN, .revents = 0}};
  for (;;) {
    if (signals_.number() != 0) {
      return InputKind::signal;
    }
    if (poll(files.data(), files.size(), -1) < 0) {
      if (errno == EINTR) {
        continue;
      }
      return Error{Code::io, concat("cannot read stdin: ", std::strerror(errno))};
    }
    if (files[0].revents == 0) {
      continue;
    }
    std::array<char, 4096> buffer{};
    const ssize_t count = ::read(STDIN_FILENO, buffer.data(), buffer.size());
    if (count < 0 && errno != EINTR) {
      return Error{Code::io, concat("cannot read stdin: ", std::strerror(errno))};
    }
    if (count == 0) {
      return InputKind::end;
    }
    if (count > 0) {
      pending_.append(buffer.data(), static_cast<std::size_t>(count));
      return InputKind::line;
    }
  }
}

Result<Input> LineReader::read(std::string_view prompt) {
  std::string text;
  if (is_interactive()) {
    ZLLM_TRY(write_out(prompt));
  }
  for (;;) {
    const std::size_t end = pending_.find('\n');
    if (end == std::string::npos && !is_at_end_) {
      ZLLM_TRY(const InputKind kind, fill());
      if (kind == InputKind::signal) {
        pending_.clear();
        return Input{.kind = kind, .line = {}};
      }
      is_at_end_ = kind == InputKind::end;
      continue;
    }
    if (end == std::string::npos) {
      text += std::exchange(pending_, {});
      is_at_end_ = false;  // of a terminal: Ctrl-D ends one line only
      return Input{.kind = text.empty() ? InputKind::end : InputKind::line, .line = text};
    }
    text += pending_.substr(0, end);
    pending_.erase(0, end + 1);
    if (!text.ends_with('\\')) {
      return Input{.kind = InputKind::line, .line = text};
    }
    text.back() = '\n';
    if (is_interactive()) {
      ZLLM_TRY(write_out("... "));
    }
  }
}

}  // namespace zllm::cli
