#include <zllm/text/family/piece_writer.h>

#include <utility>

namespace zllm::text::family {

template <class Kind>
Kind *PieceWriter::last() {
  return out_->size() > first_ ? std::get_if<Kind>(&out_->back()) : nullptr;
}

void PieceWriter::content(std::string_view text) {
  if (text.empty()) {
    return;
  }
  if (Content *before = last<Content>()) {
    before->text += text;
  } else {
    out_->emplace_back(Content{std::string(text)});
  }
}

void PieceWriter::reasoning(std::string_view text) {
  if (text.empty()) {
    return;
  }
  if (Reasoning *before = last<Reasoning>(); before != nullptr && !before->ends) {
    before->text += text;
  } else {
    out_->emplace_back(Reasoning{.text = std::string(text)});
  }
}

void PieceWriter::end_reasoning() {
  if (Reasoning *before = last<Reasoning>()) {
    before->ends = true;
  } else {
    out_->emplace_back(Reasoning{.text = {}, .ends = true});
  }
}

void PieceWriter::begin_call(std::string name, std::string id) {
  out_->emplace_back(CallBegin{.call = calls_, .name = std::move(name), .id = std::move(id)});
  ++calls_;
}

void PieceWriter::arguments(std::string_view json) {
  if (json.empty()) {
    return;
  }
  if (CallArguments *before = last<CallArguments>()) {
    before->json += json;
  } else {
    out_->emplace_back(CallArguments{.call = calls_ - 1, .json = std::string(json)});
  }
}

void PieceWriter::end_call() { out_->emplace_back(CallEnd{.call = calls_ - 1}); }

}  // namespace zllm::text::family
