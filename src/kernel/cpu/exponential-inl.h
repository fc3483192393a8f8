#pragma once

// e^x, 2^x and tanh on a vector. Every function here and in the other -inl.h files is a template
// over the instruction set's Simd, whose internal linkage they inherit.
namespace zllm::kernel::cpu {

constexpr float kLog2E = 1.44269504F;

// Within 2 ulp; 0 from about -104 down (so exactly 0 at minus infinity), infinite from 88.73 up,
// NaN for NaN. exp(0) is exactly 1.
template <class S>
typename S::Vec exponential(typename S::Vec x) {
  using Vec = typename S::Vec;
  x = S::minimum(S::set(100.0F), S::maximum(S::set(-110.0F), x));
  const Vec power = S::round(S::multiply(x, S::set(kLog2E)));
  // ln 2 in two parts, the first short enough that its product with the power is exact.
  Vec r = S::fma(power, S::set(-0.693359375F), x);
  r = S::fma(power, S::set(2.12194440e-4F), r);
  // (e^r - 1 - r) / r^2 on |r| <= ln(2)/2, minimax, error 7e-8.
  Vec p = S::set(0.001392625083F);
  p = S::fma(p, r, S::set(0.008363232884F));
  p = S::fma(p, r, S::set(0.04166655421F));
  p = S::fma(p, r, S::set(0.1666657667F));
  p = S::fma(p, r, S::set(0.5F));
  p = S::add(S::fma(S::multiply(r, r), p, r), S::set(1.0F));
  return S::scale_by_power(p, power);
}

// 2^x for x <= 0, within 2 ulp: 0 from about -150 down (so exactly 0 at minus infinity), NaN for
// NaN. 2^0 is exactly 1.
template <class S>
typename S::Vec power_of_two(typename S::Vec x) {
  using Vec = typename S::Vec;
  x = S::maximum(S::set(-152.0F), x);
  const Vec power = S::round(x);
  const Vec r = S::subtract(x, power);
  // (2^r - 1) / r on |r| <= 0.5, minimax, error 8e-9.
  Vec p = S::set(0.0001545318283F);
  p = S::fma(p, r, S::set(0.001339088633F));
  p = S::fma(p, r, S::set(0.00961808252F));
  p = S::fma(p, r, S::set(0.05550357071F));
  p = S::fma(p, r, S::set(0.2402265076F));
  p = S::fma(p, r, S::set(0.693147188F));
  p = S::fma(p, r, S::set(1.0F));
  return S::scale_by_power(p, power);
}

template <class S>
typename S::Vec hyperbolic_tangent(typename S::Vec x) {
  using Vec = typename S::Vec;
  const Vec one = S::set(1.0F);
  const Vec size = S::magnitude(x);
  const Vec far =
      S::subtract(one, S::divide(S::set(2.0F), S::add(exponential<S>(S::add(size, size)), one)));
  // (tanh(x) / x - 1) / x^2 in y = x^2 on |x| <= 0.64, minimax, error 2e-9: near zero the form
  // above cancels.
  const Vec y = S::multiply(x, x);
  Vec p = S::set(0.002246003686F);
  p = S::fma(p, y, S::set(-0.008301695361F));
  p = S::fma(p, y, S::set(0.02175570035F));
  p = S::fma(p, y, S::set(-0.05395759513F));
  p = S::fma(p, y, S::set(0.1333329635F));
  p = S::fma(p, y, S::set(-0.3333333312F));
  const Vec near = S::fma(S::multiply(p, y), x, x);
  return S::select_less(size, S::set(0.625F), near, S::with_sign_of(far, x));
}

template <class S>
float power_of_two_of(float x) {
  float lanes[S::kLanes];
  S::store(lanes, power_of_two<S>(S::set(x)));
  return lanes[0];
}

}  // namespace zllm::kernel::cpu
