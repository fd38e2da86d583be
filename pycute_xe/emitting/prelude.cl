// ---- Prelude: the atoms. Every fragment is a variable of vISA, every atom one instruction on it.
#define XE_DECLARE(NAME, COUNT) \
  __asm__ volatile(".decl " #NAME " v_type=G type=ud num_elts=" #COUNT " align=wordx32")
#define XE_VIEW(NAME, TYPE, COUNT, OF, BYTE) \
  __asm__ volatile(".decl " #NAME " v_type=G type=" #TYPE " num_elts=" #COUNT \
                   " align=wordx32 alias=<" #OF ", " #BYTE ">")
#define XE_PREDICATE(NAME, COUNT) __asm__ volatile(".decl " #NAME " v_type=P num_elts=" #COUNT)

// What a block-2D message sees of an operand: sizes in bytes and rows, less one as it takes them.
typedef struct { ulong base; int width, height, pitch; } xe_surface;
#define XE_SURFACE(BASE, WIDTH, HEIGHT, PITCH) \
  ((xe_surface){(ulong)(BASE), (WIDTH) - 1, (HEIGHT) - 1, (PITCH) - 1})
#define XE_AT(S, X, Y) \
  "rw.u"((S).base), "rw.u"((S).width), "rw.u"((S).height), "rw.u"((S).pitch), "rw.u"(X), "rw.u"(Y)

// Load a block at (x elements, y rows) into registers, store one, or bring one into the caches.
#define XE_LOAD_2D(TO, BLOCK, S, X, Y) \
  __asm__ volatile("lsc_load_block2d.ugm (M1, 1) " #TO ":" #BLOCK \
                   " flat[%0,%1,%2,%3,%4,%5]" ::XE_AT(S, X, Y))
#define XE_STORE_2D(S, X, Y, FROM, BLOCK) \
  __asm__ volatile("lsc_store_block2d.ugm (M1, 1) flat[%0,%1,%2,%3,%4,%5] " #FROM \
                   ":" #BLOCK ::XE_AT(S, X, Y))
#define XE_PREFETCH_2D(BLOCK, S, X, Y) \
  __asm__ volatile("lsc_load_block2d.ugm.ca.ca (M1, 1) %%null:" #BLOCK \
                   " flat[%0,%1,%2,%3,%4,%5]" ::XE_AT(S, X, Y))

// The same by an address payload that stays in a register P: made for COUNT blocks side by side, and
// named with the descriptor of each message and the registers that this one fills or reads.
#define XE_PAYLOAD(P, COUNT, WIDTH, HEIGHT, S, X, Y) \
  { \
    const xe_surface xe_s = (S); \
    const uint xe_shape = ((COUNT) - 1) << 16 | ((HEIGHT) - 1) << 8 | ((WIDTH) - 1); \
    __asm__ volatile("{\n.decl xe_base v_type=G type=uq num_elts=8 align=wordx32 alias=<" #P ", 0>\n" \
                     "mov (M1_NM, 1) xe_base(0,0)<1> %0(0,0)<0;1,0>\n" \
                     "mov (M1_NM, 1) " #P "(0,2)<1> %1(0,0)<0;1,0>\n" \
                     "mov (M1_NM, 1) " #P "(0,3)<1> %2(0,0)<0;1,0>\n" \
                     "mov (M1_NM, 1) " #P "(0,4)<1> %3(0,0)<0;1,0>\n" \
                     "mov (M1_NM, 1) " #P "(0,5)<1> %4(0,0)<0;1,0>\n" \
                     "mov (M1_NM, 1) " #P "(0,6)<1> %5(0,0)<0;1,0>\n" \
                     "mov (M1_NM, 1) " #P "(0,7)<1> %6(0,0)<0;1,0>\n}" ::XE_AT(xe_s, X, Y), \
                     "rw.u"(xe_shape)); \
  }
#define XE_LOAD(TO, COUNT, P, DESC) \
  __asm__ volatile("raw_sends.15.1.0." #COUNT " (M1, 1) 0x0:ud " #DESC ":ud " #P ".0 %null.0 " #TO ".0")
#define XE_STORE(P, DESC, FROM, COUNT) \
  __asm__ volatile("raw_sends.15.1." #COUNT ".0 (M1, 1) 0x0:ud " #DESC ":ud " #P ".0 " #FROM ".0 %null.0")
#define XE_PREFETCH(P, DESC) \
  __asm__ volatile("raw_sends.15.1.0.0 (M1, 1) 0x0:ud " #DESC ":ud " #P ".0 %null.0 %null.0")

// D = C + A B: types of B and A, depth, rows; D, C and B with a byte, A with a register and dword.
#define XE_DPAS(TYPES, D, C, B, A) \
  __asm__ volatile("dpas." #TYPES " (M1, 16) " #D " " #C " " #B " " #A)

// An instruction on registers; with one or two scalars as %0 and %1.
#define XE_ALU(...) __asm__ volatile(#__VA_ARGS__)
#define XE_ALU_1(P, ...) __asm__ volatile(#__VA_ARGS__ ::"rw.u"(P))
#define XE_ALU_2(P, Q, ...) __asm__ volatile(#__VA_ARGS__ ::"rw.u"(P), "rw.u"(Q))

// Shared memory of so many bytes from 0 on: loads and stores of LANES work-items, each at its byte.
#define XE_SHARED(BYTES) \
  __local uchar xe_shared[BYTES] __attribute__((aligned(64))); \
  __asm__ volatile("" ::"rw.u"(xe_shared))
#define XE_SHARED_LOAD(TO, SIZE, LANES, AT) \
  __asm__ volatile("lsc_load.slm (M1_NM, " #LANES ") " #TO ":" #SIZE " flat[%0]:a32" ::"rw"( \
      (uint)(AT)))
#define XE_SHARED_STORE(FROM, SIZE, LANES, AT) \
  __asm__ volatile("lsc_store.slm (M1_NM, " #LANES ") flat[%0]:a32 " #FROM ":" #SIZE ::"rw"( \
      (uint)(AT)))
// A block of COUNT elements that lie side by side, from a byte on, to and from whole registers. The
// message reads its address at the beginning of a register.
#define XE_SHARED_BLOCK(AT, ...) \
  __asm__ volatile("{\n.decl xe_at v_type=G type=ud num_elts=1 align=wordx32\n" \
                   "mov (M1_NM, 1) xe_at(0,0)<1> %0(0,0)<0;1,0>\n" __VA_ARGS__ "\n}" ::"rw.u"( \
                       (uint)(AT)))
#define XE_SHARED_LOAD_BLOCK(TO, SIZE, COUNT, AT) \
  XE_SHARED_BLOCK(AT, "lsc_load.slm (M1_NM, 1) " #TO ":" #SIZE "x" #COUNT "t flat[xe_at]:a32")
#define XE_SHARED_STORE_BLOCK(FROM, SIZE, COUNT, AT) \
  XE_SHARED_BLOCK(AT, "lsc_store.slm (M1_NM, 1) flat[xe_at]:a32 " #FROM ":" #SIZE "x" #COUNT "t")
#define XE_FENCE() __asm__ volatile("lsc_fence.slm.none.group")

// Add LANES elements of 4 bytes to memory, one for each work-item at (X bytes, Y rows) of a surface;
// those outside it are left out.
#define XE_ADD(OP, FROM, SIZE, LANES, S, X, Y) \
  { \
    const xe_surface xe_s = (S); \
    const int xe_x = (X), xe_y = (Y); \
    const int xe_on = ((uint)xe_x <= (uint)xe_s.width) & ((uint)xe_y <= (uint)xe_s.height) & \
                      (xe_lane < LANES); \
    const ulong xe_place = xe_s.base + (long)xe_y * (xe_s.pitch + 1) + xe_x; \
    __asm__ volatile("{\n.decl xe_inside v_type=P num_elts=16\n" \
                     "cmp.ne (M1_NM, 16) xe_inside %1(0,0)<1;1,0> 0x0:d\n" \
                     "(xe_inside) lsc_atomic_" #OP ".ugm (M1_NM, " #LANES ") %%null:" #SIZE \
                     " flat[%0]:a64 " #FROM " %%null\n}" ::"rw"(xe_place), "rw"(xe_on)); \
  }

// The two halves of the work-group's barrier.
#define XE_BARRIER(HALF) __asm__ volatile("sbarrier." #HALF)

// An element of 32 bits of an operand, so many bytes behind its start.
#define XE_ELEMENT(OF, BYTE) (*(__global const int *)((OF) + (BYTE)))
// Add to a counter, and keep what it was: one addition for a subgroup.
#define XE_TICKET(INTO, COUNTER, BY) \
  { \
    const ulong xe_from = (ulong)&(COUNTER), xe_to = (ulong)&(INTO); \
    const int xe_by = (BY); \
    __asm__ volatile("{\n.decl xe_old v_type=G type=d num_elts=16 align=GRF\n" \
                     "lsc_atomic_iadd.ugm (M1_NM, 1) xe_old:d32 flat[%0]:a64 %2 %%null\n" \
                     "lsc_store.ugm (M1_NM, 1) flat[%1]:a64 xe_old:d32\n}" \
                     ::"rw"(xe_from), "rw"(xe_to), "rw"(xe_by)); \
  }

// floor(a / b) for b > 0.
static inline int xe_floor(int a, int b) { return (a - (a % b + b) % b) / b; }
// ---- The kernel.
