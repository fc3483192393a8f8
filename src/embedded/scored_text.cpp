#include <zllm/embedded/scored_text.h>

#include <algorithm>
#include <utility>

namespace zllm {
namespace {

constexpr std::string_view kBlank = " \t\n\r\f\v";

}  // namespace

void ScoredText::begin(ScoredToken token) {
  trim();
  // A token without text of its own, such as a part of a character, goes with the next text.
  pending_.push_back({.token = std::move(token), .begin = text_.size(), .end = text_.size() + 1});
  is_open_ = true;
  is_passed_ = false;
}

void ScoredText::append(std::string_view text, bool is_special) {
  if (pending_.empty()) {
    return;
  }
  text_ += text;
  if (is_open_) {
    Pending& last = pending_.back();
    last.end = std::max(last.end, text_.size());
    last.is_special = is_special;
  }
}

void ScoredText::leave_content() {
  is_passed_ = true;
  begin_ = std::max(begin_, is_open_ ? pending_.back().begin : text_.size());
  floor_ = std::max(floor_, begin_);
}

void ScoredText::end() {
  is_open_ = false;
  if (is_passed_) {
    floor_ = text_.size();
  }
}

std::vector<ScoredToken> ScoredText::take_content(std::string_view content) {
  std::size_t begin = find(content);
  if (begin == std::string::npos && std::exchange(keeps_, false)) {
    begin_ = 0;
    floor_ = 0;
    told_ = 0;
    std::ranges::for_each(pending_, [](Pending& each) { each.is_told = false; });
    begin = find(content);
  }
  const bool is_found = begin != std::string::npos;
  begin = is_found ? begin : floor_;
  floor_ = is_found ? begin + content.size() : text_.size();
  begin_ = floor_;
  return take(pending_.size(), begin);
}

std::vector<ScoredToken> ScoredText::take_passed() {
  return take(pending_.size() - (is_open_ ? 1 : 0), std::string::npos);
}

// The untold ones of the first so many. Of content are those that end behind where it begins; those
// that begin behind its end, which is the floor then, are left.
std::vector<ScoredToken> ScoredText::take(std::size_t end, std::size_t content) {
  const bool is_content = content != std::string::npos;
  std::vector<ScoredToken> out;
  for (; told_ < end && (!is_content || pending_[told_].begin < floor_); ++told_) {
    Pending& each = pending_[told_];
    if (!std::exchange(each.is_told, true)) {
      out.push_back(keeps_ ? each.token : std::move(each.token));
      out.back().is_content = is_content && each.end > content;
    }
  }
  return out;
}

const ScoredText::Pending *ScoredText::special_at(std::size_t place) const {
  const auto found = std::ranges::find_if(pending_, [&](const Pending& each) {
    return each.is_special && each.begin == place && place < each.end;
  });
  return found == pending_.end() ? nullptr : &*found;
}

std::size_t ScoredText::find(std::string_view content) const {
  const std::string_view text = text_;
  for (std::size_t at = floor_; at < text.size();) {
    if (text.substr(at).starts_with(content)) {
      return at;
    }
    if (const Pending *special = special_at(at)) {
      at = special->end;
    } else if (kBlank.find(text[at]) != std::string_view::npos) {
      ++at;
    } else {
      break;
    }
  }
  // Behind a marker, of which the end is not known.
  const std::size_t last = text.rfind(content);
  return last == std::string_view::npos || last < begin_ ? std::string_view::npos : last;
}

void ScoredText::trim() {
  if (keeps_ || begin_ == 0) {
    return;
  }
  text_.erase(0, begin_);
  std::erase_if(pending_, [&](const Pending& each) { return each.is_told && each.end <= begin_; });
  for (Pending& each : pending_) {
    each.begin -= std::min(each.begin, begin_);
    each.end -= std::min(each.end, begin_);
  }
  floor_ -= begin_;
  begin_ = 0;
  told_ = 0;
}

}  // namespace zllm
