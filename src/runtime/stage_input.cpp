#include <zllm/runtime/stage_input.h>

#include <string_view>
#include <vector>

#include <zllm/attention/sparse/selection.h>
#include <zllm/base/text.h>

namespace zllm::runtime {
namespace {

Error invalid(std::string_view what) {
  return Error{Code::invalid_argument, concat("stage input: ", what)};
}

std::vector<std::uint64_t> row_positions(const Round& round) {
  std::vector<std::uint64_t> positions;
  positions.reserve(round.rows());
  for (const Segment& segment : round.segments) {
    for (std::uint64_t row = 0; row < segment.tokens.size(); ++row) {
      positions.push_back(segment.start + row);
    }
  }
  return positions;
}

Status check_selection(const attention::sparse::Selection& selection, const Round& round) {
  for (std::size_t row = 0; row < selection.rows(); ++row) {
    if (selection.row(row).empty()) {
      return invalid(concat("the selection of row ", row, " keeps no position"));
    }
  }
  Status visible = attention::sparse::check_visible(selection, row_positions(round));
  if (!visible.ok()) {
    return std::move(visible).error().within("stage input");
  }
  return {};
}

}  // namespace

Status check_input(const Round& round, const StageNeeds& needs) {
  if (needs.first_layer == 0) {
    return round.input ? invalid("there is one, but the stage starts with the embedding")
                       : Status();
  }
  if (!round.input) {
    return invalid(concat("there is none, but the stage starts with layer ", needs.first_layer));
  }
  const Boundary& input = *round.input;
  if (input.streams != needs.streams || input.hidden != needs.hidden) {
    return invalid(concat(input.streams, " streams of ", input.hidden, " values where the stage ",
                          "takes ", needs.streams, " of ", needs.hidden));
  }
  ZLLM_TRY(check(input));
  if (input.rows() != round.rows()) {
    return invalid(concat(input.rows(), " rows for a round of ", round.rows()));
  }
  if (!input.selection) {
    return needs.selection ? invalid(concat("no selection, which the stage from layer ",
                                            needs.first_layer, " on takes from an earlier one"))
                           : Status();
  }
  return check_selection(*input.selection, round);
}

}  // namespace zllm::runtime
