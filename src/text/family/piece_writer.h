#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <zllm/text/family/output_parser.h>

namespace zllm::text::family {

// Appends pieces to the output of the add or finish that runs; joins neighbours of one kind.
class PieceWriter {
 public:
  void write_to(std::vector<Piece>& out) {
    out_ = &out;
    first_ = out.size();
  }

  void content(std::string_view text);
  void reasoning(std::string_view text);
  void end_reasoning();
  void begin_call(std::string name, std::string id = {});
  // Of the call that is open.
  void arguments(std::string_view json);
  void end_call();

 private:
  template <class Kind>
  Kind *last();

  std::vector<Piece> *out_ = nullptr;
  std::size_t first_ = 0;  // of the pieces that this run appended
  std::uint32_t calls_ = 0;
};

}  // namespace zllm::text::family
