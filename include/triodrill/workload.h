/*
 * What a training job tells a drill, and lets a drill reach: the C ABI of libtriodrill.so. Stable: functions are added,
 * never changed; TRIODRILL_WORKLOAD_ABI grows when they are.
 *
 * A process that calls triodrill_attach() owns one page of shared memory (an anonymous memfd named
 * "triodrill-workload"), which the node's agent finds through /proc/PID/fd and maps: it reads the step, the phase and
 * the table of tensors there, and arms at most a handful of rules that corrupt a tensor when a phase begins. Nothing is
 * written to disk, nothing listens, no thread is started, no signal is used. Where nobody drills, a call costs a store
 * and a load. The page ends with the process.
 *
 * All functions may be called from any thread but are meant for the training thread; tensors are corrupted on the
 * thread that calls triodrill_phase(), and only while it does. None of them fails the job: without an attached page
 * they do nothing. Functions that return int return 0, or a negative errno.
 */
#ifndef TRIODRILL_WORKLOAD_H_
#define TRIODRILL_WORKLOAD_H_

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TRIODRILL_WORKLOAD_ABI 1

/* Element types; the width is what a flipped bit is counted in (bit 0 = least significant). */
enum {
  TRIODRILL_FLOAT32 = 1,
  TRIODRILL_FLOAT64 = 2,
  TRIODRILL_FLOAT16 = 3,
  TRIODRILL_BFLOAT16 = 4,
  TRIODRILL_INT8 = 5,
  TRIODRILL_INT32 = 6,
  TRIODRILL_INT64 = 7
};

/* The ABI version of the library that was loaded. */
int triodrill_abi(void);

/* Makes the page. `rank` is the global rank, `world` the number of ranks. Once a process; -EALREADY after that.
 * A fork does not inherit it: the child attaches anew. -EINVAL for a rank outside 0 … world-1. */
int triodrill_attach(int rank, int world);

/* Gives the page back and forgets the tensors (phases keep their numbers). Tensors must not be freed before their
 * registration is dropped or the page is given back. */
void triodrill_detach(void);

/* The rank may change when a job is rebuilt around a failure. */
void triodrill_set_rank(int rank, int world);

/* Makes `elements` values at `data` known by `name` (at most 47 bytes; a name known before is replaced). By convention:
 * "weights", "gradients" (this rank's own, before the all-reduce), "reduced_gradients" (after it), "optimizer"; parts
 * of them as "weights/layer1.bias". Host memory, little-endian. -ENOSPC if the table (256) is full, -ENOTCONN without a
 * page. May wait for a rule that is being applied on the training thread: microseconds. */
int triodrill_register_tensor(const char* name, void* data, uint64_t elements, int dtype);
/* -ENOENT if it is not known. */
int triodrill_unregister_tensor(const char* name);

/* `step` steps are done. Monotonic, but for a restored checkpoint. */
void triodrill_progress(uint64_t step);

/* A number for a phase's name, to be asked for once (at most 31 bytes, 64 names); greater than 0, or a negative errno.
 * Needs no page, and outlives it. */
int triodrill_phase_id(const char* name);

/* A phase of the step begins. Here, and only here, an armed rule for this phase takes effect.
 * By convention: "compute", "gradients" (own gradients are complete, the all-reduce comes next), "reduced" (the
 * all-reduce is done, the optimizer comes next), "applied", "checkpoint.host", "checkpoint.persist". */
void triodrill_phase(int id);

#ifdef __cplusplus
}
#endif

#endif /* TRIODRILL_WORKLOAD_H_ */
