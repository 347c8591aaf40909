// Undo records and their traces as a disk may give them back: what is read is what was written, to the byte, and what
// was written is read.
#include "injectors/journal/record_file.h"
#include "tests/fuzz/fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using triodrill::fuzz::Must;
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  if (const auto record = triodrill::DecodeRecordFile(bytes); record.ok()) {
    Must(*triodrill::EncodeRecordFile(*record) == bytes, "a record is read that nobody wrote so");
  }
  if (const auto trace = triodrill::DecodeTraceFile(bytes); trace.ok()) {
    Must(*triodrill::EncodeTraceFile(*trace) == bytes, "a trace is read that nobody wrote so");
  }
  triodrill::v1::UndoRecord record;
  if (!record.ParseFromString(bytes)) return 0;
  const auto file = triodrill::EncodeRecordFile(record);
  if (!file.ok()) return 0;
  const auto again = triodrill::DecodeRecordFile(*file);
  Must(again.ok() && again->SerializeAsString() == record.SerializeAsString(), "a record does not come back");
  for (size_t cut : {size_t{0}, file->size() / 2, file->size() - 1}) {
    Must(!triodrill::DecodeRecordFile(std::string_view(*file).substr(0, cut)).ok(), "half a record is read");
  }
  return 0;
}
