#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <zllm/base/result.h>

namespace zllm::cli {

// Writes to stdout at once. An error when the reader is gone or the disk is full.
Status write_out(std::string_view text);
// Writes a line to stderr, with the program's name in front.
void warn(std::string_view message);
// Writes a line with its end to stderr as it is; waits for the reader.
void write_log(std::string_view line);
Result<std::string> read_stdin();

// "98.4 MB", as people read sizes.
std::string size_text(std::uint64_t bytes);
// The text with control bytes and bytes that are not UTF-8 escaped: safe for a terminal.
std::string printable(std::string_view text);

// A line on stderr that is drawn over itself: only on a terminal that can, else nothing happens.
// Gone when the object is.
class StatusLine {
 public:
  StatusLine();
  ~StatusLine();
  StatusLine(const StatusLine&) = delete;
  StatusLine& operator=(const StatusLine&) = delete;

  void show(std::string_view text);
  // A bar with the share of `total` that is done.
  void show_progress(std::string_view label, std::uint64_t done, std::uint64_t total);
  void clear();
  bool is_active() const { return is_active_; }

 private:
  bool is_active_;
  bool is_drawn_ = false;
};

}  // namespace zllm::cli
