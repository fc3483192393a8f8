#pragma once

#include <cstddef>

#include <zllm/text/family/marker.h>
#include <zllm/text/family/piece_writer.h>
#include <zllm/text/family/tool_table.h>

namespace zllm::text::family {

// What reading a call works on; the parser owns it all.
struct CallContext {
  Input *input = nullptr;
  PieceWriter *out = nullptr;
  const ToolTable *tools = nullptr;
};

// How a family writes calls. Immutable; lives for ever.
class CallSyntax {
 public:
  virtual ~CallSyntax() = default;

  // The markers that calls begin with, and those that come within.
  virtual Markers begins() const = 0;
  virtual Markers inner() const = 0;
  // Reads one or several calls; the cursor is behind begins()[begin]. False where none is there:
  // then nothing went out, wherever the cursor is.
  virtual Task<bool> read(CallContext context, std::size_t begin) const = 0;
  // Whether an answer may be a call without any marker, and reads it.
  virtual bool has_bare_calls() const { return false; }
  virtual Task<bool> read_bare(CallContext context) const;
};

}  // namespace zllm::text::family
