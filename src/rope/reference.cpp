#include <zllm/rope/reference.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include <zllm/base/text.h>

namespace zllm::rope {
namespace {

// Keeps a ramp between equal corrections from dividing by zero; the value that YaRN's authors chose
// is part of the result.
constexpr double kYarnMinimumRamp = 0.001;

std::vector<double> base_frequencies(const Spec& spec, double theta) {
  std::vector<double> frequencies(spec.rotated / 2);
  for (std::size_t i = 0; i < frequencies.size(); ++i) {
    frequencies[i] = std::pow(theta, -2.0 * static_cast<double>(i) / spec.rotated);
    if (!spec.frequency_divisors.empty()) {
      frequencies[i] /= spec.frequency_divisors[i];
    }
  }
  return frequencies;
}

double dynamic_theta(const Spec& spec, std::uint64_t length) {
  const double width = spec.rotated;
  const auto limit = static_cast<double>(spec.max_positions);
  const double reached = static_cast<double>(std::max(length, spec.max_positions));
  const double stretch = spec.factor * reached / limit - (spec.factor - 1.0);
  return spec.theta * std::pow(stretch, width / (width - 2.0));
}

void scale_llama3(const Spec& spec, std::vector<double>& frequencies) {
  const auto original = static_cast<double>(spec.original_positions);
  for (double& frequency : frequencies) {
    const double wavelength = 2.0 * std::numbers::pi / frequency;
    if (wavelength < original / spec.high_frequency_factor) {
      continue;
    }
    if (wavelength > original / spec.low_frequency_factor) {
      frequency /= spec.factor;
      continue;
    }
    const double kept = (original / wavelength - spec.low_frequency_factor) /
                        (spec.high_frequency_factor - spec.low_frequency_factor);
    frequency = (1.0 - kept) * frequency / spec.factor + kept * frequency;
  }
}

// The lane, as a real number, whose wave turns that often within the original context.
double yarn_correction(const Spec& spec, double turns) {
  const auto original = static_cast<double>(spec.original_positions);
  return spec.rotated * std::log(original / (turns * 2.0 * std::numbers::pi)) /
         (2.0 * std::log(spec.theta));
}

void scale_yarn(const Spec& spec, std::vector<double>& frequencies) {
  double low = yarn_correction(spec, spec.beta_fast);
  double high = yarn_correction(spec, spec.beta_slow);
  if (spec.truncate) {
    low = std::floor(low);
    high = std::ceil(high);
  }
  low = std::max(low, 0.0);
  high = std::min(high, spec.rotated - 1.0);
  if (low == high) {
    high += kYarnMinimumRamp;
  }
  for (std::size_t i = 0; i < frequencies.size(); ++i) {
    const double ramp = std::clamp((static_cast<double>(i) - low) / (high - low), 0.0, 1.0);
    frequencies[i] = frequencies[i] / spec.factor * ramp + frequencies[i] * (1.0 - ramp);
  }
}

double yarn_amplitude(const Spec& spec) {
  if (spec.attention_factor) {
    return *spec.attention_factor;
  }
  const auto magnitude = [&](double k) {
    return spec.factor <= 1.0 ? 1.0 : 0.1 * k * std::log(spec.factor) + 1.0;
  };
  const double mscale = spec.mscale.value_or(0.0);
  const double all_lanes = spec.mscale_all_dim.value_or(0.0);
  return mscale != 0.0 && all_lanes != 0.0 ? magnitude(mscale) / magnitude(all_lanes)
                                           : magnitude(1.0);
}

double longrope_amplitude(const Spec& spec) {
  if (spec.attention_factor) {
    return *spec.attention_factor;
  }
  const auto original = static_cast<double>(spec.original_positions);
  return spec.factor <= 1.0 ? 1.0 : std::sqrt(1.0 + std::log(spec.factor) / std::log(original));
}

void divide(std::vector<double>& frequencies, const std::vector<double>& divisors) {
  for (std::size_t i = 0; i < frequencies.size(); ++i) {
    frequencies[i] /= divisors[i];
  }
}

Table scaled_table(const Spec& spec, std::uint64_t length) {
  const double theta = spec.scaling == Scaling::dynamic ? dynamic_theta(spec, length) : spec.theta;
  Table table{.frequencies = base_frequencies(spec, theta)};
  switch (spec.scaling) {
    case Scaling::none:
    case Scaling::dynamic:
      break;
    case Scaling::linear:
      for (double& frequency : table.frequencies) {
        frequency /= spec.factor;
      }
      break;
    case Scaling::llama3:
      scale_llama3(spec, table.frequencies);
      break;
    case Scaling::yarn:
      scale_yarn(spec, table.frequencies);
      table.amplitude = yarn_amplitude(spec);
      break;
    case Scaling::longrope:
      divide(table.frequencies,
             length > spec.original_positions ? spec.long_factors : spec.short_factors);
      table.amplitude = longrope_amplitude(spec);
      break;
  }
  return table;
}

}  // namespace

std::uint64_t table_length(const Spec& spec, std::uint64_t length) {
  if (spec.scaling == Scaling::dynamic && length > spec.max_positions) {
    return length;
  }
  if (spec.scaling == Scaling::longrope && length > spec.original_positions) {
    return spec.original_positions + 1;
  }
  return 0;
}

Result<Table> make_table(const Spec& spec, std::uint64_t length) {
  ZLLM_TRY(validate(spec));
  Table table = scaled_table(spec, length);
  for (const double frequency : table.frequencies) {
    if (!(frequency >= 0.0 && frequency <= kFrequencyLimit)) {
      return Error{Code::invalid_file, concat("rope frequencies: ", frequency,
                                              " radians a position is beyond ", kFrequencyLimit)};
    }
  }
  if (!std::isfinite(table.amplitude)) {
    return Error{Code::invalid_file, "rope amplitude: not finite"};
  }
  return table;
}

void cos_sin(const Table& table, std::uint64_t position, std::span<float> cosines,
             std::span<float> sines) {
  ZLLM_CHECK(cosines.size() == table.frequencies.size() && sines.size() == cosines.size(),
             "rope: cosines and sines of another width than the table");
  for (std::size_t i = 0; i < table.frequencies.size(); ++i) {
    const double angle = static_cast<double>(position) * table.frequencies[i];
    cosines[i] = static_cast<float>(std::cos(angle) * table.amplitude);
    sines[i] = static_cast<float>(std::sin(angle) * table.amplitude);
  }
}

void rotate(std::span<float> head, std::span<const float> cosines, std::span<const float> sines,
            Pairing pairing) {
  const std::size_t pairs = cosines.size();
  ZLLM_CHECK(sines.size() == pairs && head.size() >= 2 * pairs, "rope: head narrower than table");
  for (std::size_t i = 0; i < pairs; ++i) {
    float& first = head[pairing == Pairing::half ? i : 2 * i];
    float& second = head[pairing == Pairing::half ? i + pairs : 2 * i + 1];
    const auto x = static_cast<double>(first);
    const auto y = static_cast<double>(second);
    const auto cosine = static_cast<double>(cosines[i]);
    const auto sine = static_cast<double>(sines[i]);
    first = static_cast<float>(x * cosine - y * sine);
    second = static_cast<float>(x * sine + y * cosine);
  }
}

void rotate(std::span<float> head, std::uint64_t position, const Table& table, Pairing pairing) {
  std::vector<float> cosines(table.frequencies.size());
  std::vector<float> sines(table.frequencies.size());
  cos_sin(table, position, cosines, sines);
  rotate(head, cosines, sines, pairing);
}

}  // namespace zllm::rope
