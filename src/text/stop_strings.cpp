#include <zllm/text/stop_strings.h>

#include <algorithm>

#include <zllm/base/check.h>
#include <zllm/base/text.h>
#include <zllm/base/utf8.h>

namespace zllm::text {

Result<StopStrings> StopStrings::create(std::vector<std::string> stops) {
  if (stops.size() > kMaxStopStrings) {
    return Error{Code::invalid_argument,
                 concat(stops.size(), " stop strings are more than ", kMaxStopStrings)};
  }
  for (const std::string& stop : stops) {
    if (stop.empty() || stop.size() > kMaxStopStringBytes || !is_valid_utf8(stop)) {
      return Error{Code::invalid_argument, concat("stop string ", quote(stop), " is not 1 to ",
                                                  kMaxStopStringBytes, " bytes of UTF-8")};
    }
  }
  return StopStrings(std::move(stops));
}

std::string StopStrings::add(std::string_view piece) {
  if (stopped()) {
    return {};
  }
  held_ += piece;
  std::size_t first_end = std::string::npos;
  for (std::size_t i = 0; i < stops_.size(); ++i) {
    const std::size_t begin = held_.find(stops_[i]);
    if (begin == std::string::npos) {
      continue;
    }
    const std::size_t end = begin + stops_[i].size();
    const bool longer = found_ && end == first_end && stops_[i].size() > stops_[*found_].size();
    if (end < first_end || longer) {
      first_end = end;
      found_ = i;
    }
  }
  const std::size_t keep =
      found_ ? held_.size() - (first_end - stops_[*found_].size()) : possible_suffix(held_);
  std::string out = held_.substr(0, held_.size() - keep);
  held_.erase(0, found_ ? held_.size() : out.size());
  return out;
}

std::string StopStrings::flush() { return std::exchange(held_, std::string()); }

const std::string& StopStrings::stop() const {
  ZLLM_CHECK(stopped(), "stop() before a stop string was found");
  return stops_[*found_];
}

std::size_t StopStrings::possible_suffix(std::string_view text) const {
  std::size_t longest = 0;
  for (const std::string_view stop : stops_) {
    for (std::size_t size = std::min(stop.size() - 1, text.size()); size > longest; --size) {
      if (text.ends_with(stop.substr(0, size))) {
        longest = size;
      }
    }
  }
  return longest;
}

}  // namespace zllm::text
