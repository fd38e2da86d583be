// ---- Prelude: the atoms in plain C. One work-item is a subgroup; it has the registers to itself.
#pragma OPENCL FP_CONTRACT OFF
// Functions of their own and loops as they stand: written out, a kernel takes minutes to compile.
#define XE_ROLLED __attribute__((opencl_unroll_hint(1)))
#define XE_CALLED static __attribute__((noinline))

// Fragments are arrays of dwords; a view is an address in one, as elements of a type. C lets a
// compiler take pointers of two types for pointers to two places, unless the types say otherwise.
#define XE_SEEN __attribute__((may_alias))
typedef uint XE_SEEN xe_ud;
typedef int XE_SEEN xe_d;
typedef float XE_SEEN xe_f;
typedef ushort XE_SEEN xe_uw, XE_SEEN xe_hf, XE_SEEN xe_bf;
typedef short XE_SEEN xe_w;
typedef uchar xe_ub;
typedef char xe_b;
#define XE_DECLARE(NAME, COUNT) xe_ud NAME[COUNT]
#define XE_PREDICATE(NAME, COUNT) uchar NAME[COUNT]
#define XE_VIEW(NAME, TYPE, COUNT, OF, BYTE) \
  __private xe_##TYPE *NAME = (__private xe_##TYPE *)((__private uchar *)OF + BYTE)

// What a block-2D message sees of an operand: bytes and rows.
typedef struct { __global uchar *base; int width, height, pitch; } xe_surface;
#define XE_SURFACE(BASE, WIDTH, HEIGHT, PITCH) ((xe_surface){(BASE), (WIDTH), (HEIGHT), (PITCH)})

// Rows of registers are padded to a power of two, blocks of a load to whole registers of 64 bytes.
static inline int xe_padded(int n) { return n <= 1 ? 1 : 1 << (32 - clz(n - 1)); }
static inline bool xe_inside(xe_surface s, int bytes, int x, int y) {
  return x >= 0 && (x + 1L) * bytes <= s.width && y >= 0 && y < s.height;
}
static inline void xe_copy(__private uchar *to, __global const uchar *from, int bytes) {
  for (int i = 0; i < bytes; ++i) to[i] = from[i];
}
// Element (column, row) of a block goes to place(column, row); what lies outside becomes zero.
#define XE_LOADS(ORDER, LINES, PITCH, PLACE) \
  XE_CALLED void xe_load_##ORDER(__private xe_ud *to, int bytes, int count, int width, \
                                 int height, xe_surface s, int x, int y) { \
    const int pack = 4 / bytes, pitch = PITCH; \
    const int block = (LINES * pitch * bytes + 63) / 64 * 64; \
    for (int i = 0; i < count * block / 4; ++i) to[i] = 0; \
    for (int b = 0; b < count; ++b) \
      for (int row = 0; row < height; ++row) \
        for (int column = 0; column < width; ++column) { \
          const int from = x + b * width + column, place = PLACE; \
          if (xe_inside(s, bytes, from, y + row)) \
            xe_copy((__private uchar *)to + b * block + place * bytes, \
                    s.base + (long)(y + row) * s.pitch + from * bytes, bytes); \
        } \
  }
XE_LOADS(nn, height, xe_padded(width), row * pitch + column)
XE_LOADS(nt, (height + pack - 1) / pack * pack, xe_padded(width),
         row / pack * pack * pitch + column * pack + row % pack)
XE_LOADS(tn, width, xe_padded(height), column * pitch + row)
XE_CALLED void xe_store_nn(xe_surface s, int x, int y, __private const xe_ud *from, int bytes,
                           int width, int height) {
  for (int row = 0; row < height; ++row)
    for (int column = 0; column < width; ++column)
      if (xe_inside(s, bytes, x + column, y + row))
        for (int i = 0; i < bytes; ++i)
          s.base[(long)(y + row) * s.pitch + (x + column) * bytes + i] =
              ((__private const uchar *)from)[(row * xe_padded(width) + column) * bytes + i];
}

// Load a block at (x elements, y rows) into registers, or store one; nothing is brought ahead.
#define XE_LOAD_2D(TO, BITS, COUNT, WIDTH, HEIGHT, ORDER, S, X, Y) \
  xe_load_##ORDER(TO, BITS / 8, COUNT, WIDTH, HEIGHT, S, X, Y)
#define XE_STORE_2D(S, X, Y, FROM, BITS, COUNT, WIDTH, HEIGHT, ORDER) \
  xe_store_##ORDER(S, X, Y, FROM, BITS / 8, WIDTH, HEIGHT)
#define XE_PREFETCH_2D(BITS, COUNT, WIDTH, HEIGHT, ORDER, S, X, Y) ((void)(S))

// Numbers of 16 and 32 bits as f32 and back, rounded to nearest even.
static inline float xe_of_hf(ushort x) {
  const uint exponent = x >> 10 & 31, rest = x & 1023, wide = exponent == 31 ? 255 : exponent + 112;
  const uint small = as_uint((float)rest * 0x1p-24f);
  return as_float((exponent ? wide << 23 | rest << 13 : small) | (uint)(x & 0x8000) << 16);
}
static inline float xe_of_bf(ushort x) { return as_float((uint)x << 16); }
XE_CALLED ushort xe_to_hf(float x) {
  const uint bits = as_uint(x), sign = bits >> 16 & 0x8000, size = bits & 0x7fffffff;
  if (size > 0x7f800000) return sign | 0x7e00 | (size >> 13 & 1023);
  if (size >= 0x477ff000) return sign | 0x7c00;
  if (size < 0x38800000) return sign | (uint)rint(as_float(size) * 0x1p24f);
  return sign | (size + 0xfff + (size >> 13 & 1) - 0x38000000) >> 13;
}
XE_CALLED ushort xe_to_bf(float x) {
  const uint bits = as_uint(x);
  return isnan(x) ? bits >> 16 | 64 : (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
}

// How element AT of a view is read and written; integers are computed with in 64 bits.
#define XE_GET_ud(V, AT) ((long)(V)[AT])
#define XE_GET_d(V, AT) ((long)(V)[AT])
#define XE_GET_uw(V, AT) ((long)(V)[AT])
#define XE_GET_w(V, AT) ((long)(V)[AT])
#define XE_GET_ub(V, AT) ((long)(V)[AT])
#define XE_GET_b(V, AT) ((long)(V)[AT])
#define XE_GET_f(V, AT) ((V)[AT])
#define XE_GET_hf(V, AT) xe_of_hf((V)[AT])
#define XE_GET_bf(V, AT) xe_of_bf((V)[AT])
#define XE_PUT_ud(X) ((uint)(X))
#define XE_PUT_d(X) ((int)(X))
#define XE_PUT_uw(X) ((ushort)(X))
#define XE_PUT_w(X) ((short)(X))
#define XE_PUT_ub(X) ((uchar)(X))
#define XE_PUT_b(X) ((char)(X))
#define XE_PUT_f(X) ((float)(X))
#define XE_PUT_hf(X) xe_to_hf(X)
#define XE_PUT_bf(X) xe_to_bf(X)
#define XE_SAT_ud(X) convert_uint_sat(X)
#define XE_SAT_d(X) convert_int_sat(X)
#define XE_SAT_ub(X) convert_uchar_sat(X)
#define XE_SAT_b(X) convert_char_sat(X)

// Operands: COUNT / WIDTH rows, so many elements apart, of elements so many apart; bits; a scalar.
#define XE_TO(TYPE, V, AT, STEP) TYPE, V, AT, STEP
#define XE_FROM(TYPE, V, AT, DOWN, WIDTH, ACROSS) \
  XE_GET_##TYPE(V, (AT) + xe_i / (WIDTH) * (DOWN) + xe_i % (WIDTH) * (ACROSS))
#define XE_ABS(A) fabs(A)
#define XE_MINUS(A) (-(A))
#define XE_BITS_f(BITS) as_float((uint)BITS)
#define XE_BITS_ud(BITS) ((long)(uint)BITS)
#define XE_BITS_d(BITS) ((long)(int)BITS)
#define XE_BITS_uw(BITS) ((long)(ushort)BITS)

// What an instruction computes from its operands, and how that becomes an element of a type.
#define XE_OP_mov(TYPE, A) XE_PUT_##TYPE(A)
#define XE_OP_mov_sat(TYPE, A) XE_SAT_##TYPE(A)
#define XE_OP_add(TYPE, A, B) XE_PUT_##TYPE((A) + (B))
#define XE_OP_mul(TYPE, A, B) XE_PUT_##TYPE((A) * (B))
#define XE_OP_min(TYPE, A, B) XE_PUT_##TYPE(XE_MIN_##TYPE(A, B))
#define XE_MIN_f(A, B) fmin(A, B)
#define XE_MIN_d(A, B) min(A, B)
#define XE_MIN_ud(A, B) min(A, B)
#define XE_OP_max(TYPE, A, B) XE_PUT_##TYPE(XE_MAX_##TYPE(A, B))
#define XE_MAX_f(A, B) fmax(A, B)
#define XE_MAX_d(A, B) max(A, B)
#define XE_MAX_ud(A, B) max(A, B)
#define XE_OP_shl(TYPE, A, B) XE_PUT_##TYPE((long)((ulong)(A) << (B)))
#define XE_OP_shr(TYPE, A, B) XE_PUT_##TYPE((A) >> (B))
#define XE_OP_asr(TYPE, A, B) XE_PUT_##TYPE((A) >> (B))
#define XE_OP_and(TYPE, A, B) XE_PUT_##TYPE((A) & (B))
#define XE_OP_or(TYPE, A, B) XE_PUT_##TYPE((A) | (B))
#define XE_OP_cmp_eq(TYPE, A, B) ((A) == (B))
#define XE_OP_cmp_ne(TYPE, A, B) ((A) != (B))
#define XE_OP_cmp_lt(TYPE, A, B) ((A) < (B))
#define XE_OP_cmp_le(TYPE, A, B) ((A) <= (B))
#define XE_OP_cmp_gt(TYPE, A, B) ((A) > (B))
#define XE_OP_cmp_ge(TYPE, A, B) ((A) >= (B))
#define XE_OP_sel(TYPE, WHERE, A, B) ((WHERE)[xe_i] ? XE_PUT_##TYPE(A) : XE_PUT_##TYPE(B))
#define XE_OP_rnde(TYPE, A) XE_PUT_##TYPE(rint(A))
#define XE_OP_inv(TYPE, A) XE_PUT_##TYPE(1.0f / (A))
#define XE_OP_exp(TYPE, A) XE_PUT_##TYPE(exp2(A))
#define XE_OP_log(TYPE, A) XE_PUT_##TYPE(log2(A))
#define XE_OP_sqrt(TYPE, A) XE_PUT_##TYPE(sqrt(A))
#define XE_OP_rsqrt(TYPE, A) XE_PUT_##TYPE(rsqrt(A))
#define XE_ALU(OP, COUNT, ...) XE_ALU_EACH(OP, COUNT, __VA_ARGS__)
#define XE_ALU_EACH(OP, COUNT, TYPE, V, AT, STEP, ...) \
  do { \
    xe_##TYPE xe_out[COUNT]; \
    XE_ROLLED for (int xe_i = 0; xe_i < COUNT; ++xe_i) xe_out[xe_i] = XE_OP_##OP(TYPE, __VA_ARGS__); \
    XE_ROLLED for (int xe_i = 0; xe_i < COUNT; ++xe_i) (V)[(AT) + xe_i * (STEP)] = xe_out[xe_i]; \
  } while (0)

// D = C + A B: a row of A is 8 dwords, B 8 dwords for each of 16 columns; k ascends.
#define XE_PART_hf(X, I) xe_of_hf((ushort)((X) >> 16 * (I)))
#define XE_PART_bf(X, I) xe_of_bf((ushort)((X) >> 16 * (I)))
#define XE_PART_tf32(X, I) as_float((X) & 0xffffe000u)
#define XE_PART_s8(X, I) ((int)((X) << (24 - 8 * (I))) >> 24)
#define XE_PART_u8(X, I) ((int)((X) >> 8 * (I) & 255))
#define XE_PART_s4(X, I) ((int)((X) << (28 - 4 * (I))) >> 28)
#define XE_PART_u4(X, I) ((int)((X) >> 4 * (I) & 15))
#define XE_PARTS_hf 2
#define XE_PARTS_bf 2
#define XE_PARTS_tf32 1
#define XE_PARTS_s8 4
#define XE_PARTS_u8 4
#define XE_PARTS_s4 8
#define XE_PARTS_u4 8
#define XE_SUM_f float
#define XE_SUM_hf float
#define XE_SUM_bf float
#define XE_SUM_d uint
#define XE_SUM_ud uint
#define XE_MULTIPLIES(B_TYPE, A_TYPE, TYPE) \
  XE_CALLED void xe_dpas_##B_TYPE##_##A_TYPE##_##TYPE( \
      int rows, __private xe_##TYPE *d, __private const xe_##TYPE *c, __private const xe_ud *b, \
      __private const xe_ud *a) { \
    for (int m = 0; m < rows; ++m) { \
      XE_SUM_##TYPE sum[16]; \
      for (int n = 0; n < 16; ++n) sum[n] = XE_GET_##TYPE(c, 16 * m + n); \
      for (int k = 0; k < 8; ++k) \
        for (int part = 0; part < XE_PARTS_##A_TYPE; ++part) \
          for (int n = 0; n < 16; ++n) \
            sum[n] += XE_PART_##A_TYPE(a[8 * m + k], part) * \
                      XE_PART_##B_TYPE(b[16 * k + n], part); \
      for (int n = 0; n < 16; ++n) d[16 * m + n] = XE_PUT_##TYPE(sum[n]); \
    } \
  }
XE_MULTIPLIES(hf, hf, f)
XE_MULTIPLIES(hf, hf, hf)
XE_MULTIPLIES(bf, bf, f)
XE_MULTIPLIES(bf, bf, bf)
XE_MULTIPLIES(tf32, tf32, f)
XE_MULTIPLIES(s8, s8, d)
XE_MULTIPLIES(s8, u8, d)
XE_MULTIPLIES(u8, s8, d)
XE_MULTIPLIES(u8, u8, d)
XE_MULTIPLIES(u8, u8, ud)
XE_MULTIPLIES(s4, s4, d)
XE_MULTIPLIES(s4, u4, d)
XE_MULTIPLIES(u4, s4, d)
XE_MULTIPLIES(u4, u4, d)
#define XE_DPAS(B_TYPE, A_TYPE, ROWS, TYPE, D, D_AT, C, C_AT, B, B_AT, A, A_AT) \
  xe_dpas_##B_TYPE##_##A_TYPE##_##TYPE(ROWS, D + D_AT, C + C_AT, B + B_AT, A + A_AT)

// The two halves of the work-group's barrier: to arrive is to do nothing, to wait is all of it.
#define XE_BARRIER(HALF) XE_BARRIER_##HALF
#define XE_BARRIER_signal ((void)0)
#define XE_BARRIER_wait barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE)

// Shared memory of so many bytes: LANES dwords or, widened to these, narrower elements, each at its
// byte, which counts the work-items by xe_lane. A work-item here does for all of its subgroup.
#define XE_SHARED(BYTES) __local uchar xe_shared[BYTES] __attribute__((aligned(64)))
#define XE_LANES(COUNT) XE_ROLLED for (int xe_lane = 0; xe_lane < (COUNT); ++xe_lane)
#define XE_AS_d32 xe_ud
#define XE_AS_d16u32 xe_uw
#define XE_AS_d8u32 xe_ub
#define XE_SHARED_LOAD(TO, SIZE, LANES, AT) \
  XE_LANES(LANES) (TO)[xe_lane] = *(__local const XE_AS_##SIZE *)(xe_shared + (AT))
#define XE_SHARED_STORE(FROM, SIZE, LANES, AT) \
  XE_LANES(LANES) *(__local XE_AS_##SIZE *)(xe_shared + (AT)) = (XE_AS_##SIZE)(FROM)[xe_lane]
#define XE_DWORDS_d32 1
#define XE_DWORDS_d64 2
#define XE_SHARED_LOAD_BLOCK(TO, SIZE, COUNT, AT) \
  XE_SHARED_LOAD(TO, d32, XE_DWORDS_##SIZE * COUNT, (AT) + 4 * xe_lane)
#define XE_SHARED_STORE_BLOCK(FROM, SIZE, COUNT, AT) \
  XE_SHARED_STORE(FROM, d32, XE_DWORDS_##SIZE * COUNT, (AT) + 4 * xe_lane)
#define XE_FENCE() mem_fence(CLK_LOCAL_MEM_FENCE)

// Add LANES elements of 4 bytes to memory, each at (X bytes, Y rows) of a surface, if inside it.
#define XE_SUM_fadd(A, B) as_uint(as_float(A) + as_float(B))
#define XE_SUM_iadd(A, B) ((A) + (B))
#define XE_ADDS(OP) \
  XE_CALLED void xe_##OP(xe_surface s, int x, int y, uint more) { \
    if (x < 0 || x >= s.width || y < 0 || y >= s.height) return; \
    volatile __global xe_ud *at = (volatile __global xe_ud *)(s.base + (long)y * s.pitch + x); \
    uint old = *at, seen; \
    while ((seen = atomic_cmpxchg(at, old, XE_SUM_##OP(old, more))) != old) old = seen; \
  }
XE_ADDS(fadd)
XE_ADDS(iadd)
#define XE_ADD(OP, FROM, SIZE, LANES, S, X, Y) \
  XE_LANES(LANES) xe_##OP(S, X, Y, (FROM)[xe_lane])

// An element of 32 bits of an operand, so many bytes behind its start.
#define XE_ELEMENT(OF, BYTE) (*(__global const xe_d *)((OF) + (BYTE)))
// Add to a counter, and keep what it was.
#define XE_TICKET(INTO, COUNTER, BY) \
  (*(__global int *)&(INTO) = atomic_add((volatile __global int *)&(COUNTER), BY))
// floor(a / b) for b > 0.
static inline int xe_floor(int a, int b) { return (a - (a % b + b) % b) / b; }
// ---- The kernel.
