#include <zllm/attention/delta_rule/short_convolution.h>

#include <cmath>

namespace zllm::attention::delta_rule {

std::vector<double> convolve(const Spec& spec, std::span<const float> taps,
                             std::span<const float> mixed, std::vector<float>& tail) {
  const std::size_t width = channels(spec);
  std::vector<float> history = tail;
  history.insert(history.end(), mixed.begin(), mixed.end());
  std::vector<double> result(mixed.size());
  for (std::size_t i = 0; i < result.size(); ++i) {
    const std::size_t channel = i % width;
    double sum = 0.0;
    for (std::size_t tap = 0; tap < spec.taps; ++tap) {
      sum += static_cast<double>(taps[channel * spec.taps + tap]) *
             static_cast<double>(history[i + tap * width]);
    }
    result[i] = sum / (1.0 + std::exp(-sum));
  }
  tail.assign(history.begin() + static_cast<std::ptrdiff_t>(mixed.size()), history.end());
  return result;
}

}  // namespace zllm::attention::delta_rule
