// The numbers of CuTe alone, for files whose device function a test writes itself.
#pragma once
#include <sycl/sycl.hpp>

#define CUTE_DEVICE inline

namespace cute {
struct bfloat16_t {
  sycl::ext::oneapi::bfloat16 bits;
  bfloat16_t() = default;
  explicit bfloat16_t(float x) : bits(x) {}
  operator float() const { return bits; }
};
struct half_t {
  sycl::half bits;
  half_t() = default;
  explicit half_t(float x) : bits(x) {}
  operator float() const { return bits; }
};
struct int4_t {
  uint8_t storage;
  int4_t() = default;
  explicit int4_t(int x) : storage(x & 15) {}
  operator int() const { return (storage ^ 8) - 8; }
};
struct float_e2m1_t;
template <class T> inline constexpr int sizeof_bits_v = int(sizeof(T)) * 8;
template <> inline constexpr int sizeof_bits_v<int4_t> = 4;
template <class T, class U> inline constexpr bool is_same_v = std::is_same_v<T, U>;
template <class T, class U> constexpr auto max(T a, U b) { return a < b ? b : a; }
template <class T, class U> constexpr auto min(T a, U b) { return b < a ? b : a; }
}  // namespace cute
