// The bytes of one undo record on disk: a header (magic, format, length), the record, a SHA-256 over both. A torn or
// altered file is unreadable, never misread. The trace of a discharged one likewise, under another magic. Pure.
#pragma once

#include <string>
#include <string_view>

#include "triodrill/status.h"
#include "triodrill/v1/undo.pb.h"

namespace triodrill {

// InvalidArgument if it could not be read back.
Result<std::string> EncodeRecordFile(const v1::UndoRecord& record);
// DataLoss if it is not exactly what EncodeRecordFile wrote.
Result<v1::UndoRecord> DecodeRecordFile(std::string_view bytes);

Result<std::string> EncodeTraceFile(const v1::Discharged& trace);
Result<v1::Discharged> DecodeTraceFile(std::string_view bytes);

}  // namespace triodrill
