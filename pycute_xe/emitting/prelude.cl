// ---- Prelude: the atoms. Every fragment is a variable of vISA, every atom one instruction on it.
#define XE_DECLARE(NAME, COUNT) \
  __asm__ volatile(".decl " #NAME " v_type=G type=ud num_elts=" #COUNT " align=wordx32")
#define XE_VIEW(NAME, TYPE, COUNT, OF, BYTE) \
  __asm__ volatile(".decl " #NAME " v_type=G type=" #TYPE " num_elts=" #COUNT \
                   " align=wordx32 alias=<" #OF ", " #BYTE ">")

// What a block-2D message sees of an operand: sizes in bytes and rows, less one as it takes them.
typedef struct { ulong base; int width, height, pitch; } xe_surface;
#define XE_SURFACE(BASE, WIDTH, HEIGHT, PITCH) \
  ((xe_surface){(ulong)(BASE), (WIDTH) - 1, (HEIGHT) - 1, (PITCH) - 1})
#define XE_AT(S, X, Y) \
  "rw.u"((S).base), "rw.u"((S).width), "rw.u"((S).height), "rw.u"((S).pitch), "rw.u"(X), "rw.u"(Y)

// Load a block at (x elements, y rows) into registers, store one, or bring one into the cache.
#define XE_LOAD_2D(TO, BLOCK, S, X, Y) \
  __asm__ volatile("lsc_load_block2d.ugm (M1, 1) " #TO ":" #BLOCK \
                   " flat[%0,%1,%2,%3,%4,%5]" ::XE_AT(S, X, Y))
#define XE_STORE_2D(S, X, Y, FROM, BLOCK) \
  __asm__ volatile("lsc_store_block2d.ugm (M1, 1) flat[%0,%1,%2,%3,%4,%5] " #FROM \
                   ":" #BLOCK ::XE_AT(S, X, Y))
#define XE_PREFETCH_2D(BLOCK, S, X, Y) \
  __asm__ volatile("lsc_load_block2d.ugm (M1, 1) %%null:" #BLOCK \
                   " flat[%0,%1,%2,%3,%4,%5]" ::XE_AT(S, X, Y))

// D = C + A B: types of B and A, depth, rows; D, C and B with a byte, A with a register and dword.
#define XE_DPAS(TYPES, D, C, B, A) \
  __asm__ volatile("dpas." #TYPES " (M1, 16) " #D " " #C " " #B " " #A)

// An instruction on registers; with one or two scalars as %0 and %1.
#define XE_ALU(...) __asm__ volatile(#__VA_ARGS__)
#define XE_ALU_1(P, ...) __asm__ volatile(#__VA_ARGS__ ::"rw.u"(P))
#define XE_ALU_2(P, Q, ...) __asm__ volatile(#__VA_ARGS__ ::"rw.u"(P), "rw.u"(Q))

// The two halves of the work-group's barrier.
#define XE_BARRIER(HALF) __asm__ volatile("sbarrier." #HALF)

// floor(a / b) for b > 0.
static inline int xe_floor(int a, int b) { return (a - (a % b + b) % b) / b; }
// ---- The kernel.
