#include "output.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <zllm/base/text.h>
#include <zllm/base/utf8.h>

namespace zllm::cli {
namespace {

constexpr std::uint64_t kBarCells = 30;

bool can_redraw() {
  const char *terminal = std::getenv("TERM");
  return isatty(STDERR_FILENO) != 0 && terminal != nullptr && std::strcmp(terminal, "dumb") != 0;
}

// Others that share the file may have made it one that does not wait by itself.
bool is_full(int file) {
  pollfd room{.fd = file, .events = POLLOUT, .revents = 0};
  return errno == EAGAIN && poll(&room, 1, -1) >= 0;
}

Status write_all(int file, std::string_view text) {
  while (!text.empty()) {
    const ssize_t count = ::write(file, text.data(), text.size());
    if (count < 0 && !is_full(file) && errno != EINTR) {
      return Error{Code::io, concat("cannot write the output: ", std::strerror(errno))};
    }
    text.remove_prefix(static_cast<std::size_t>(std::max<ssize_t>(count, 0)));
  }
  return {};
}

}  // namespace

Status write_out(std::string_view text) { return write_all(STDOUT_FILENO, text); }

void warn(std::string_view message) {
  // Nobody is left to tell when stderr itself fails.
  static_cast<void>(write_all(STDERR_FILENO, concat("zllm: ", message, "\n")));
}

void write_log(std::string_view line) { static_cast<void>(write_all(STDERR_FILENO, line)); }

Result<std::string> read_stdin() {
  std::string text;
  std::array<char, 65536> buffer{};
  for (;;) {
    const ssize_t count = ::read(STDIN_FILENO, buffer.data(), buffer.size());
    if (count == 0) {
      return text;
    }
    if (count < 0 && errno != EINTR) {
      return Error{Code::io, concat("cannot read stdin: ", std::strerror(errno))};
    }
    text.append(buffer.data(), static_cast<std::size_t>(std::max<ssize_t>(count, 0)));
  }
}

std::string size_text(std::uint64_t bytes) {
  constexpr std::array<const char *, 5> kUnits = {"bytes", "kB", "MB", "GB", "TB"};
  auto value = static_cast<double>(bytes);
  std::size_t unit = 0;
  while (value >= 1000 && unit + 1 < kUnits.size()) {
    value /= 1000;
    ++unit;
  }
  std::array<char, 40> text{};
  std::snprintf(text.data(), text.size(), unit == 0 ? "%.0f %s" : "%.1f %s", value, kUnits[unit]);
  return text.data();
}

std::string printable(std::string_view text) {
  constexpr std::string_view kHex = "0123456789abcdef";
  std::string out;
  while (!text.empty()) {
    const std::size_t length = utf8_sequence_length(text);
    const auto byte = static_cast<unsigned char>(text[0]);
    const bool is_control = length == 1 && (byte < 0x20 || byte == 0x7f);
    // U+0080 to U+009F are control characters too.
    const bool is_c1 = length == 2 && byte == 0xc2 && static_cast<unsigned char>(text[1]) < 0xa0;
    if (length == 0 || is_control || is_c1) {
      out += byte == '\n' ? std::string("\\n")
                          : concat("\\x", kHex.substr(byte >> 4, 1), kHex.substr(byte & 15, 1));
      text.remove_prefix(1);
      continue;
    }
    out += text.substr(0, length);
    text.remove_prefix(length);
  }
  return out;
}

StatusLine::StatusLine() : is_active_(can_redraw()) {}
StatusLine::~StatusLine() { clear(); }

void StatusLine::show(std::string_view text) {
  if (is_active_) {
    is_drawn_ = true;
    static_cast<void>(write_all(STDERR_FILENO, concat("\r\x1b[K", text)));
  }
}

void StatusLine::show_progress(std::string_view label, std::uint64_t done, std::uint64_t total) {
  const double share = total == 0 ? 1.0 : static_cast<double>(done) / static_cast<double>(total);
  const auto cells = static_cast<std::size_t>(std::min(share, 1.0) * kBarCells);
  show(concat(label, " [", std::string(cells, '#'), std::string(kBarCells - cells, ' '), "] ",
              static_cast<int>(std::min(share, 1.0) * 100), " %"));
}

void StatusLine::clear() {
  if (is_drawn_) {
    is_drawn_ = false;
    static_cast<void>(write_all(STDERR_FILENO, "\r\x1b[K"));
  }
}

}  // namespace zllm::cli
