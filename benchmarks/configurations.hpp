// What stands for SYCL and for the parts of CUTLASS that a configuration names and does not use.
#include <sycl/sycl.hpp>
namespace sycl {
template<class T,int N> struct words { T v[N]; template<class... A> words(A...) {} T& operator[](int i) { return v[i]; } T operator[](int i) const { return v[i]; }
  template<class U> U as() const { return U(); } template<class U> words<U,N> convert() const { return {}; } words operator~() const { return {}; }
  template<class U> words& operator&=(U) { return *this; } template<class U> words& operator|=(U) { return *this; } template<class U> words& operator^=(U) { return *this; } template<class U> words& operator+=(U) { return *this; } };
#define OPERATOR(o) template<class T,int N,class U> words<T,N> operator o(words<T,N>, U) { return {}; } template<class T,int N> words<T,N> operator o(int, words<T,N>) { return {}; }
OPERATOR(&) OPERATOR(|) OPERATOR(^) OPERATOR(+) OPERATOR(-) OPERATOR(*) OPERATOR(<<) OPERATOR(>>) OPERATOR(==)
using uchar8 = words<unsigned char,8>; using ushort8 = words<unsigned short,8>; using int2 = words<int,2>; }
namespace sycl { template<class A,class... B> A fma(A, B...) { return A(); } template<class T,int N> vec<T,N> operator-(vec<T,N> a, vec<T,N>) { return a; } }
namespace compat { template<class... A> int dp4a(A...) { return 0; } }
#include <cute/tensor.hpp>
#include "cutlass/gemm/gemm.h"
#include "cutlass/gemm/dispatch_policy.hpp"
#include "cutlass/gemm/collective/collective_mma_decl.hpp"
#include "cutlass/gemm/collective/collective_builder_decl.hpp"
#include "cutlass/gemm/kernel/gemm_universal_decl.h"
#include "cutlass/gemm/group_array_problem_shape.hpp"
#include "cutlass/epilogue/dispatch_policy.hpp"
#include "cutlass/epilogue/fusion/operations.hpp"
#include "cutlass/epilogue/thread/activation.h"
#include "cutlass/arch/mma.h"
namespace cutlass::gemm { struct PersistentScheduler; struct StreamKScheduler; struct GroupScheduler; }
namespace cutlass::epilogue::collective { template<class P, class... A> class CollectiveEpilogue; }
namespace cutlass::epilogue::fusion { template<class P, class O, class C, class E, class... A> struct FusionCallbacks; }
namespace cutlass::gemm::device { template<class K> struct GemmUniversalAdapter { using GemmKernel = K; }; }
#include <cute/atom/mma_atom.hpp>
namespace cutlass::epilogue::collective { using namespace cute; }
#include "epilogue_builder_decl.inl"
#include "gemm_builder.inl"
#include "epilogue_builder.inl"
template<class T> struct plain { using type = T; };
template<class T> struct plain<const T> : plain<T> {};
template<template<class...> class X, class... A> struct plain<X<A...>> { using type = X<typename plain<A>::type...>; };
template<class A, class B> constexpr bool alike = std::is_same<typename plain<A>::type, typename plain<B>::type>::value;
namespace cutlass { using ::int8_t; using ::uint8_t; }
