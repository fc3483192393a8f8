#include <zllm/residual/hyper_connection.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string_view>
#include <vector>

#include <zllm/base/text.h>

namespace zllm::residual {
namespace {

Error refused(std::string_view field, std::string_view reason) {
  return {Code::invalid_argument, concat("hyper-connection ", field, ": ", reason)};
}

double sigmoid(double x) { return 1.0 / (1.0 + std::exp(-x)); }

// m of one row, scaled and with its base added.
std::vector<double> mixing_logits(const HyperConnectionSpec& spec,
                                  const HyperConnectionWeights& weights,
                                  std::span<const float> streams) {
  double squares = 0.0;
  for (const float value : streams) {
    squares += static_cast<double>(value) * static_cast<double>(value);
  }
  const double norm = std::sqrt(squares / static_cast<double>(streams.size()) + spec.norm_epsilon);
  std::vector<double> logits(mix_width(spec));
  for (std::size_t i = 0; i < logits.size(); ++i) {
    const auto row = weights.mixing.subspan(i * streams.size(), streams.size());
    double sum = 0.0;
    for (std::size_t lane = 0; lane < row.size(); ++lane) {
      sum += static_cast<double>(row[lane]) * (static_cast<double>(streams[lane]) / norm);
    }
    const std::size_t part = std::min<std::size_t>(i / spec.streams, 2);
    logits[i] =
        sum * static_cast<double>(weights.scale[part]) + static_cast<double>(weights.base[i]);
  }
  return logits;
}

// A square matrix [n, n] made doubly stochastic, but for the epsilons.
class Combine {
 public:
  Combine(std::span<double> values, std::size_t n, double epsilon)
      : values_(values), n_(n), epsilon_(epsilon) {}

  void softmax_rows() {
    for (std::size_t row = 0; row < n_; ++row) {
      const auto lanes = values_.subspan(row * n_, n_);
      const double highest = *std::max_element(lanes.begin(), lanes.end());
      double total = 0.0;
      for (double& lane : lanes) {
        lane = std::exp(lane - highest);
        total += lane;
      }
      for (double& lane : lanes) {
        lane = lane / total + epsilon_;
      }
    }
  }
  void divide_rows() {
    for (std::size_t row = 0; row < n_; ++row) {
      divide(row * n_, 1);
    }
  }
  void divide_columns() {
    for (std::size_t column = 0; column < n_; ++column) {
      divide(column, n_);
    }
  }

 private:
  void divide(std::size_t begin, std::size_t step) {
    double sum = epsilon_;
    for (std::size_t i = 0; i < n_; ++i) {
      sum += values_[begin + i * step];
    }
    for (std::size_t i = 0; i < n_; ++i) {
      values_[begin + i * step] /= sum;
    }
  }

  std::span<double> values_;
  std::size_t n_;
  double epsilon_;
};

void store(std::span<const double> values, std::span<float> out) {
  std::transform(values.begin(), values.end(), out.begin(),
                 [](double value) { return static_cast<float>(value); });
}

// streams [n, width], each with its weight.
void weighted_sum(std::span<const double> weights, std::span<const float> streams,
                  std::span<float> out) {
  for (std::size_t lane = 0; lane < out.size(); ++lane) {
    double sum = 0.0;
    for (std::size_t k = 0; k < weights.size(); ++k) {
      sum += weights[k] * static_cast<double>(streams[k * out.size() + lane]);
    }
    out[lane] = static_cast<float>(sum);
  }
}

}  // namespace

Status validate(const HyperConnectionSpec& spec) {
  if (spec.streams == 0) {
    return refused("streams", "must be above 0");
  }
  const std::uint64_t mixes = (2 + std::uint64_t{spec.streams}) * spec.streams;
  if (mixes > std::numeric_limits<std::uint32_t>::max()) {
    return refused("streams",
                   concat("the mixing logits of ", spec.streams, " streams do not fit 32 bits"));
  }
  if (spec.iterations == 0) {
    return refused("iterations", "must be above 0");
  }
  if (!std::isfinite(spec.norm_epsilon) || spec.norm_epsilon <= 0.0) {
    return refused("norm_epsilon", "must be finite and above 0");
  }
  if (!std::isfinite(spec.epsilon) || spec.epsilon < 0.0) {
    return refused("epsilon", "must be finite and at least 0");
  }
  return {};
}

void split(const HyperConnectionSpec& spec, const HyperConnectionWeights& weights,
           std::span<const float> streams, std::size_t width, std::span<float> input,
           std::span<float> after, std::span<float> combine) {
  ZLLM_CHECK(validate(spec).ok() && width > 0, "hyper-connection: spec");
  const std::size_t n = spec.streams;
  const std::size_t rows = input.size() / width;
  ZLLM_CHECK(weights.mixing.size() == mix_width(spec) * n * width, "hyper-connection: mixing");
  ZLLM_CHECK(weights.base.size() == mix_width(spec), "hyper-connection: base");
  ZLLM_CHECK(weights.scale.size() == 3, "hyper-connection: scale");
  ZLLM_CHECK(input.size() == rows * width, "hyper-connection: input");
  ZLLM_CHECK(streams.size() == rows * n * width, "hyper-connection: streams");
  ZLLM_CHECK(after.size() == rows * n, "hyper-connection: after");
  ZLLM_CHECK(combine.size() == rows * n * n, "hyper-connection: combine");
  for (std::size_t row = 0; row < rows; ++row) {
    const auto own = streams.subspan(row * n * width, n * width);
    std::vector<double> logits = mixing_logits(spec, weights, own);
    const std::span<double> parts(logits);
    for (std::size_t k = 0; k < n; ++k) {
      parts[k] = sigmoid(parts[k]) + spec.epsilon;
      parts[n + k] = 2.0 * sigmoid(parts[n + k]);
    }
    Combine matrix(parts.subspan(2 * n), n, spec.epsilon);
    matrix.softmax_rows();
    matrix.divide_columns();
    for (std::uint32_t i = 1; i < spec.iterations; ++i) {
      matrix.divide_rows();
      matrix.divide_columns();
    }
    weighted_sum(parts.first(n), own, input.subspan(row * width, width));
    store(parts.subspan(n, n), after.subspan(row * n, n));
    store(parts.subspan(2 * n), combine.subspan(row * n * n, n * n));
  }
}

void merge(const HyperConnectionSpec& spec, std::span<const float> sublayer,
           std::span<const float> after, std::span<const float> combine, std::size_t width,
           std::span<float> streams) {
  ZLLM_CHECK(validate(spec).ok() && width > 0, "hyper-connection: spec");
  const std::size_t n = spec.streams;
  const std::size_t rows = sublayer.size() / width;
  ZLLM_CHECK(sublayer.size() == rows * width, "hyper-connection: sublayer");
  ZLLM_CHECK(streams.size() == rows * n * width, "hyper-connection: streams");
  ZLLM_CHECK(after.size() == rows * n, "hyper-connection: after");
  ZLLM_CHECK(combine.size() == rows * n * n, "hyper-connection: combine");
  std::vector<double> merged(n);
  for (std::size_t row = 0; row < rows; ++row) {
    const auto own = streams.subspan(row * n * width, n * width);
    const auto mix = combine.subspan(row * n * n, n * n);
    for (std::size_t lane = 0; lane < width; ++lane) {
      const double y = static_cast<double>(sublayer[row * width + lane]);
      for (std::size_t k = 0; k < n; ++k) {
        merged[k] = static_cast<double>(after[row * n + k]) * y;
        for (std::size_t j = 0; j < n; ++j) {
          merged[k] +=
              static_cast<double>(mix[j * n + k]) * static_cast<double>(own[j * width + lane]);
        }
      }
      for (std::size_t k = 0; k < n; ++k) {
        own[k * width + lane] = static_cast<float>(merged[k]);
      }
    }
  }
}

void expand(std::span<const float> rows, std::size_t width, std::uint32_t streams,
            std::span<float> out) {
  ZLLM_CHECK(width > 0 && rows.size() % width == 0, "hyper-connection: rows");
  ZLLM_CHECK(out.size() == rows.size() * streams, "hyper-connection: streams");
  for (std::size_t i = 0; i < out.size(); ++i) {
    out[i] = rows[i / (width * streams) * width + i % width];
  }
}

void collapse(std::span<const float> streams, std::size_t width, std::uint32_t count,
              std::span<float> out) {
  ZLLM_CHECK(width > 0 && count > 0 && out.size() % width == 0, "hyper-connection: rows");
  ZLLM_CHECK(streams.size() == out.size() * count, "hyper-connection: streams");
  for (std::size_t i = 0; i < out.size(); ++i) {
    double sum = 0.0;
    for (std::size_t k = 0; k < count; ++k) {
      sum += static_cast<double>(streams[(i / width * count + k) * width + i % width]);
    }
    out[i] = static_cast<float>(sum / count);
  }
}

}  // namespace zllm::residual
