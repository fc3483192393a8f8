#include <algorithm>
#include <cmath>

#include <zllm/attention/delta_rule/gated_rows.h>
#include <zllm/attention/delta_rule/reference.h>

namespace zllm::attention::delta_rule {
namespace {

// The rows [begin, begin + count) of one value head. Row i's update k_i w_i^T follows from those
// before it: w_i = beta_i * (v_i - (exp(c_i) k_i)^T M - sum over j < i of <k_i, k_j> w_j), where
// <a_i, b_j> = sum over channels of a_i b_j exp(c_i - c_j) and c are the chunk's sums of g.
class Chunk {
 public:
  Chunk(const GatedRows& rows, std::size_t head, std::size_t begin, std::size_t count)
      : rows_(rows),
        head_(head),
        begin_(begin),
        count_(count),
        keys_(rows.key(begin, head).size()),
        values_(rows.value(begin, head).size()),
        sums_(count * keys_),
        updates_(count * values_) {
    for (std::size_t i = 0; i < count; ++i) {
      for (std::size_t channel = 0; channel < keys_; ++channel) {
        const double before = i == 0 ? 0.0 : sum(i - 1, channel);
        sums_[i * keys_ + channel] = before + rows.log_decay(begin + i, head, channel);
      }
    }
  }

  void solve(std::span<const float> matrix) {
    for (std::size_t i = 0; i < count_; ++i) {
      const auto key = rows_.key(begin_ + i, head_);
      const auto value = rows_.value(begin_ + i, head_);
      std::vector<double> known = read(matrix, i, key);
      add_updates(i, i, key, known);
      for (std::size_t lane = 0; lane < values_; ++lane) {
        updates_[i * values_ + lane] = rows_.beta(begin_ + i, head_) * (value[lane] - known[lane]);
      }
    }
  }

  void output(std::span<const float> matrix, std::size_t i, std::span<float> out) const {
    const auto query = rows_.query(begin_ + i, head_);
    std::vector<double> sums = read(matrix, i, query);
    add_updates(i, i + 1, query, sums);
    std::transform(sums.begin(), sums.end(), out.begin(),
                   [](double value) { return static_cast<float>(value); });
  }

  void leave(std::span<float> matrix) const {
    const std::size_t last = count_ - 1;
    for (std::size_t channel = 0; channel < keys_; ++channel) {
      for (std::size_t lane = 0; lane < values_; ++lane) {
        float& element = matrix[channel * values_ + lane];
        double updated = std::exp(sum(last, channel)) * static_cast<double>(element);
        for (std::size_t j = 0; j < count_; ++j) {
          updated += std::exp(sum(last, channel) - sum(j, channel)) *
                     rows_.key(begin_ + j, head_)[channel] * updates_[j * values_ + lane];
        }
        element = static_cast<float>(updated);
      }
    }
  }

 private:
  double sum(std::size_t i, std::size_t channel) const { return sums_[i * keys_ + channel]; }

  // The matrix before the chunk, decayed to row i, read at `lanes`.
  std::vector<double> read(std::span<const float> matrix, std::size_t i,
                           std::span<const double> lanes) const {
    std::vector<double> result(values_, 0.0);
    for (std::size_t channel = 0; channel < keys_; ++channel) {
      const double factor = std::exp(sum(i, channel)) * lanes[channel];
      for (std::size_t lane = 0; lane < values_; ++lane) {
        result[lane] += factor * static_cast<double>(matrix[channel * values_ + lane]);
      }
    }
    return result;
  }

  // Adds what the chunk's first `count` updates, decayed to row i, give at `lanes`.
  void add_updates(std::size_t i, std::size_t count, std::span<const double> lanes,
                   std::span<double> result) const {
    for (std::size_t j = 0; j < count; ++j) {
      const auto key = rows_.key(begin_ + j, head_);
      double product = 0.0;
      for (std::size_t channel = 0; channel < keys_; ++channel) {
        product += lanes[channel] * key[channel] * std::exp(sum(i, channel) - sum(j, channel));
      }
      for (std::size_t lane = 0; lane < values_; ++lane) {
        result[lane] += product * updates_[j * values_ + lane];
      }
    }
  }

  const GatedRows& rows_;
  std::size_t head_;
  std::size_t begin_;
  std::size_t count_;
  std::size_t keys_;
  std::size_t values_;
  std::vector<double> sums_;     // [count, key_width]
  std::vector<double> updates_;  // [count, value_width]
};

}  // namespace

Status chunked(const Spec& spec, const Weights& weights, const Inputs& inputs, std::size_t chunk,
               State& state, std::span<float> output) {
  ZLLM_CHECK(chunk > 0, "delta rule: a chunk of no rows");
  ZLLM_TRY(const auto rows, GatedRows::make(spec, weights, inputs, state));
  const std::size_t width = spec.value_width;
  const std::size_t elements = spec.key_width * width;
  ZLLM_CHECK(output.size() == rows.rows() * spec.value_heads * width, "delta rule: output");
  for (std::size_t begin = 0; begin < rows.rows(); begin += chunk) {
    const std::size_t count = std::min(chunk, rows.rows() - begin);
    for (std::size_t head = 0; head < spec.value_heads; ++head) {
      const auto matrix = std::span(state.matrices).subspan(head * elements, elements);
      Chunk part(rows, head, begin, count);
      part.solve(matrix);
      for (std::size_t i = 0; i < count; ++i) {
        part.output(matrix, i,
                    output.subspan(((begin + i) * spec.value_heads + head) * width, width));
      }
      part.leave(matrix);
    }
  }
  return {};
}

}  // namespace zllm::attention::delta_rule
