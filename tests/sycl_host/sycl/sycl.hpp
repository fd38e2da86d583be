// SYCL on a host without SYCL: numbers and memory are real, launches are recorded, devices are what
// the environment says. STUB_LOG is the file that takes a line for each allocation and launch;
// STUB_DEVICE is "none", "old" (a GPU without block-2D messages) or left out, STUB_MEMORY its bytes.
// With STUB_RUNS defined, a launch calls its kernel once for each work-group.
#pragma once
#include <math.h>
#include <strings.h>

#include <cmath>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string>

#define SYCL_EXTERNAL
#define __SYCL_TARGET_INTEL_GPU_BMG_G21__ 0  // what the compiler knows
#define __SYCL_TARGET_INTEL_GPU_LNL_M__ 0

// The fields of a kernel that a test looks at: defined behind the file that is compiled.
template <class Kernel> void stub_fields(std::FILE *log, Kernel const &kernel);

namespace sycl {

// -------------------------------------------------------------- numbers

template <int significand, int least, int most>  // least and most exponent
inline double stub_rounded(double x) {
  if (!(std::abs(x) > 0) || !std::isfinite(x)) return x;
  int exponent = std::max(std::ilogb(x), least);
  double const step = std::ldexp(1.0, exponent - significand + 1), out = std::nearbyint(x / step) * step;
  return std::abs(out) >= std::ldexp(1.0, most + 1) ? std::copysign(INFINITY, x) : out;
}
struct half {
  uint16_t v;
  half() = default;
  template <class T> half(T given) {
    double const x = stub_rounded<11, -14, 15>(double(given));
    uint16_t const sign = std::signbit(x) ? 0x8000 : 0;
    if (std::isnan(x)) v = 0x7e00;
    else if (std::isinf(x)) v = sign | 0x7c00;
    else if (std::abs(x) < std::ldexp(1.0, -14)) v = sign | uint16_t(std::ldexp(std::abs(x), 24));
    else {
      int const exponent = std::ilogb(x);
      v = sign | uint16_t((exponent + 15) << 10) |
          (uint16_t(std::ldexp(std::abs(x), 10 - exponent)) & 0x3ff);
    }
  }
  operator float() const {
    int const exponent = v >> 10 & 31, fraction = v & 0x3ff;
    double x = exponent ? std::ldexp(1024 + fraction, exponent - 25) : std::ldexp(fraction, -24);
    if (exponent == 31) x = fraction ? NAN : INFINITY;
    return float(v & 0x8000 ? -x : x);
  }
};
template <class To, class From> To bit_cast(From f) {
  To t;
  __builtin_memcpy(&t, &f, sizeof t);
  return t;
}
using std::erf, std::exp, std::exp2, std::fabs, std::log, std::rint, std::sqrt, std::tanh;
template <class T> T rsqrt(T x) { return 1 / std::sqrt(x); }
template <class T> int signbit(T x) { return x < 0; }
template <class T> T min(T a, T b) { return a < b ? a : b; }
template <class T> T max(T a, T b) { return a > b ? a : b; }

template <class T, int N> struct alignas(sizeof(T) * N) vec {
  T v[N];
  using vector_t = vec;
  T &operator[](int i) { return v[i]; }
  T const &operator[](int i) const { return v[i]; }
};
template <class T, size_t N> struct marray {
  T v[N];
  T &operator[](size_t i) { return v[i]; }
  T const &operator[](size_t i) const { return v[i]; }
};
using half2 = vec<half, 2>;

// -------------------------------------------------------------- ranges

template <int D> struct range {
  size_t r[D];
  template <class... A> range(A... a) : r{size_t(a)...} {}
  size_t operator[](int i) const { return r[i]; }
  size_t get(int i) const { return r[i]; }
  friend range operator*(range a, range const &b) {
    for (int i = 0; i < D; ++i) a.r[i] *= b.r[i];
    return a;
  }
};
template <int D> struct id { size_t r[D]; };
struct id1 {
  size_t v = 0;
  size_t operator[](int) const { return v; }
};
struct sub_group {
  int get_local_linear_id() const { return 0; }
  int get_group_linear_id() const { return 0; }
  id1 get_group_id() const { return {}; }
  id1 get_local_id() const { return {}; }
};
template <int D> struct nd_item {
  size_t group[D] = {};
  sub_group get_sub_group() const { return {}; }
  size_t get_local_linear_id() const { return 0; }
  size_t get_global_id(int) const { return 0; }
  size_t get_local_id(int) const { return 0; }
  size_t get_group(int i) const { return group[i]; }
};
template <int D> struct nd_range {
  range<D> global, local;
};
template <int D> struct group {};

enum class memory_order { relaxed, acquire, release, acq_rel, seq_cst };
enum class memory_scope { work_item, sub_group, work_group, device, system };
namespace access {
enum class address_space { global_space, local_space, generic_space };
}
template <class T, memory_order O = memory_order::relaxed, memory_scope S = memory_scope::device,
          access::address_space A = access::address_space::generic_space>
struct atomic_ref {
  T &r;
  explicit atomic_ref(T &x) : r(x) {}
  T fetch_add(T x) const { T o = r; r = T(r + x); return o; }
  T fetch_max(T x) const { T o = r; r = o < x ? x : o; return o; }
  T fetch_min(T x) const { T o = r; r = x < o ? x : o; return o; }
};
template <class T> struct decorated_local_ptr {
  using pointer = T *;
  template <class P> decorated_local_ptr(P) {}
  T *get() const { return nullptr; }
};

// -------------------------------------------------------------- extensions

namespace ext {
namespace oneapi {
struct bfloat16 {
  uint16_t v;
  bfloat16() = default;
  explicit bfloat16(float x) {
    uint32_t const bits = bit_cast<uint32_t>(float(stub_rounded<8, -126, 127>(x)));
    v = uint16_t(bits >> 16 | (std::isnan(x) ? 0x40 : 0));
  }
  operator float() const { return bit_cast<float>(uint32_t(v) << 16); }
};
namespace this_work_item {
template <int D> nd_item<D> get_nd_item() { return {}; }
inline sub_group get_sub_group() { return {}; }
template <int D> group<D> get_work_group() { return {}; }
}  // namespace this_work_item
namespace experimental {
inline constexpr int contiguous_memory = 0;
template <size_t N> inline constexpr int alignment = N;
template <int N> struct stub_sub_group_size { static constexpr int subgroup = N, registers = 0; };
template <int N> struct stub_grf_size { static constexpr int subgroup = 0, registers = N; };
template <int N> inline constexpr stub_sub_group_size<N> sub_group_size{};
struct properties_tag {};
template <class... P> struct properties {
  static constexpr int subgroup = (P::subgroup + ... + 0), registers = (P::registers + ... + 0);
  properties(P...) {}
};
template <> struct properties<int> { properties(int) {} };
template <> struct properties<int, int> { properties(int, int) {} };
template <class... T> void group_load(T &&...) {}
template <class... T> void group_store(T &&...) {}
template <class... T> int printf(const char *, T...) { return 0; }
enum class architecture {
  intel_gpu_pvc, intel_gpu_bmg_g21, intel_gpu_lnl_m, intel_gpu_dg2_g10
};
}  // namespace experimental
}  // namespace oneapi
namespace intel {
namespace experimental {
template <int N> inline constexpr oneapi::experimental::stub_grf_size<N> grf_size{};
template <class... T> int printf(const char *, T...) { return 0; }
}  // namespace experimental
}  // namespace intel
}  // namespace ext

// -------------------------------------------------------------- devices, queues, memory

struct exception : std::runtime_error { using std::runtime_error::runtime_error; };
inline std::string stub_said(char const *name) {
  char const *text = std::getenv(name);
  return text ? text : "";
}
inline std::FILE *stub_log() {
  static std::FILE *file = std::fopen(stub_said("STUB_LOG").c_str(), "w");
  return file ? file : stderr;
}
namespace info {
namespace device {
struct name {}; struct driver_version {}; struct max_mem_alloc_size {}; struct global_mem_size {};
}
namespace event_profiling {
struct command_start {}; struct command_end {};
}
}  // namespace info
inline constexpr int gpu_selector_v = 0;
struct property_list { template <class... P> property_list(P...) {} };
namespace property { namespace queue { struct enable_profiling {}; struct in_order {}; } }
struct context {};
struct device {
  template <class What> auto get_info() const {
    auto const memory = stub_said("STUB_MEMORY");
    if constexpr (std::is_same_v<What, info::device::name>) return std::string("Stub \"GPU\"");
    else if constexpr (std::is_same_v<What, info::device::driver_version>) return std::string("1.0");
    else return uint64_t(memory.empty() ? 1ull << 40 : std::stoull(memory));
  }
  bool ext_oneapi_architecture_is(ext::oneapi::experimental::architecture each) const {
    auto const old = ext::oneapi::experimental::architecture::intel_gpu_dg2_g10;
    return each == (stub_said("STUB_DEVICE") == "old"
                        ? old : ext::oneapi::experimental::architecture::intel_gpu_bmg_g21);
  }
};
struct event {
  void wait() {}
  void wait_and_throw() {}
  template <class What> uint64_t get_profiling_info() const {
    return std::is_same_v<What, info::event_profiling::command_end> ? 3000 : 1000;
  }
};
struct queue {
  queue() = default;
  template <class S> queue(S, property_list) {
    if (stub_said("STUB_DEVICE") == "none") throw exception("no device");
  }
  device get_device() const { return {}; }
  void wait_and_throw() {}
  template <class Kernel> event parallel_for(nd_range<3> over, Kernel const &kernel) {
    using Properties = decltype(kernel.get(ext::oneapi::experimental::properties_tag{}));
    std::fprintf(stub_log(), "launch");
    for (int i = 0; i < 3; ++i) std::fprintf(stub_log(), " %zu", over.global[i]);
    for (int i = 0; i < 3; ++i) std::fprintf(stub_log(), " %zu", over.local[i]);
    std::fprintf(stub_log(), " %d %d\n", Properties::subgroup, Properties::registers);
    stub_fields(stub_log(), kernel);
#ifdef STUB_RUNS
    nd_item<3> item;
    size_t *at = item.group;
    for (at[0] = 0; at[0] < over.global[0] / over.local[0]; ++at[0])
      for (at[1] = 0; at[1] < over.global[1] / over.local[1]; ++at[1])
        for (at[2] = 0; at[2] < over.global[2] / over.local[2]; ++at[2]) kernel(item);
#else
    auto const compiled = &Kernel::operator();
    (void)compiled;
#endif
    std::fflush(stub_log());
    return {};
  }
};
template <class T> T *aligned_alloc_shared(size_t alignment, size_t count, queue const &) {
  void *memory = std::aligned_alloc(alignment, (count * sizeof(T) + alignment - 1) / alignment * alignment);
  std::fprintf(stub_log(), "memory %p %zu %zu\n", memory, count * sizeof(T), alignment);
  return static_cast<T *>(memory);
}
inline void free(void *memory, queue const &) { std::free(memory); }

}  // namespace sycl
