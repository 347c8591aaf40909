// libcuda.so.1 with the one question that the shim asks of it. A stream here is the address of its capture status.
extern "C" __attribute__((visibility("default"))) int cuStreamIsCapturing(const int* stream, int* status);
extern "C" int cuStreamIsCapturing(const int* stream, int* status) {
  *status = stream == nullptr ? 0 : *stream;
  return 0;
}
