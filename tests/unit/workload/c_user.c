/* A job in C99, for the compiler and the linker: triodrill/workload.h and libtriodrill.so need nothing of C++. */
#include "triodrill/workload.h"

int main(void) {
  float weights[4] = {1, 2, 3, 4};
  int phase = triodrill_phase_id("applied");
  if (triodrill_abi() != TRIODRILL_WORKLOAD_ABI || phase <= 0) return 1;
  triodrill_phase(phase); /* not attached: nothing happens */
  if (triodrill_attach(0, 1) != 0) return 2;
  if (triodrill_register_tensor("weights", weights, 4, TRIODRILL_FLOAT32) != 0) return 3;
  triodrill_progress(1);
  triodrill_phase(phase);
  if (weights[0] != 1 || weights[3] != 4) return 4;
  if (triodrill_unregister_tensor("weights") != 0) return 5;
  triodrill_detach();
  return 0;
}
