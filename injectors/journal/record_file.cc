#include "injectors/journal/record_file.h"

#include <openssl/evp.h>

#include <array>

#include "injectors/journal/record.h"
#include "triodrill/text.h"

namespace triodrill {
namespace {

// magic (8) · format (4) · length of the message (4), little endian · the message · SHA-256 (32) of all before.
constexpr std::string_view kRecordMagic = "TDUNDO\r\n";
constexpr std::string_view kTraceMagic = "TDGONE\r\n";
constexpr size_t kHeaderSize = 16;
constexpr size_t kDigestSize = 32;
constexpr size_t kMostRecordSize = 1 << 20;

void AppendLittleEndian(std::string& bytes, uint32_t value) {
  for (int shift = 0; shift < 32; shift += 8) bytes.push_back(static_cast<char>(value >> shift & 0xff));
}

uint32_t LittleEndian(std::string_view bytes) {
  uint32_t value = 0;
  for (size_t i = 0; i < 4; ++i) value |= static_cast<uint32_t>(static_cast<unsigned char>(bytes[i])) << (8 * i);
  return value;
}

Result<std::string> Digest(std::string_view bytes) {
  std::string digest(kDigestSize, '\0');
  unsigned int size = 0;
  if (EVP_Digest(bytes.data(), bytes.size(), reinterpret_cast<unsigned char*>(digest.data()), &size, EVP_sha256(),
                 nullptr) != 1 ||
      size != kDigestSize) {
    return absl::InternalError("digest an undo record: SHA-256 failed");
  }
  return digest;
}

Status Unreadable(std::string_view why) { return absl::DataLossError(Cat("undo record is unreadable: ", why)); }

Result<std::string> Seal(std::string_view magic, const google::protobuf::MessageLite& message) {
  std::string body;
  if (!message.SerializeToString(&body)) return absl::InternalError("encode an undo record: not serialisable");
  if (body.size() > kMostRecordSize) {
    return absl::ResourceExhaustedError(Cat("encode an undo record: ", body.size(), " bytes are too many"));
  }
  std::string bytes(magic);
  AppendLittleEndian(bytes, kUndoRecordFormat);
  AppendLittleEndian(bytes, static_cast<uint32_t>(body.size()));
  bytes += body;
  TRIODRILL_ASSIGN_OR_RETURN(const std::string digest, Digest(bytes));
  return bytes + digest;
}

Status Unseal(std::string_view magic, std::string_view bytes, google::protobuf::MessageLite* message) {
  if (bytes.size() < kHeaderSize + kDigestSize) return Unreadable(Cat("cut short at ", bytes.size(), " bytes"));
  if (bytes.substr(0, magic.size()) != magic) return Unreadable("it does not begin as one");
  const uint32_t format = LittleEndian(bytes.substr(8));
  if (format != kUndoRecordFormat)
    return Unreadable(Cat("format ", format, ", this program reads ", kUndoRecordFormat));
  const uint32_t length = LittleEndian(bytes.substr(12));
  if (bytes.size() != kHeaderSize + length + kDigestSize) {
    return Unreadable(Cat(bytes.size(), " bytes where ", kHeaderSize + length + kDigestSize, " were written"));
  }
  TRIODRILL_ASSIGN_OR_RETURN(const std::string digest, Digest(bytes.substr(0, kHeaderSize + length)));
  if (bytes.substr(kHeaderSize + length) != digest) return Unreadable("its checksum does not match");
  if (message->ParseFromArray(bytes.data() + kHeaderSize, static_cast<int>(length))) return Ok();
  return Unreadable("not a record");
}

}  // namespace

// Read back before anything is armed on it: a name in it need not be UTF-8, and then no reader would take the file.
Result<std::string> EncodeRecordFile(const v1::UndoRecord& record) {
  TRIODRILL_ASSIGN_OR_RETURN(std::string bytes, Seal(kRecordMagic, record));
  const Status readable = DecodeRecordFile(bytes).status();
  if (readable.ok()) return bytes;
  return absl::InvalidArgumentError(Cat("encode an undo record that could not be read back: ", readable.message()));
}

Result<v1::UndoRecord> DecodeRecordFile(std::string_view bytes) {
  v1::UndoRecord record;
  TRIODRILL_RETURN_IF_ERROR(Unseal(kRecordMagic, bytes, &record));
  if (record.format() != kUndoRecordFormat) return Unreadable(Cat("format ", record.format()));
  TRIODRILL_RETURN_IF_ERROR(CheckShotName(record.fault().shot()));
  return record;
}

Result<std::string> EncodeTraceFile(const v1::Discharged& trace) { return Seal(kTraceMagic, trace); }

Result<v1::Discharged> DecodeTraceFile(std::string_view bytes) {
  v1::Discharged trace;
  TRIODRILL_RETURN_IF_ERROR(Unseal(kTraceMagic, bytes, &trace));
  TRIODRILL_RETURN_IF_ERROR(CheckShotName(trace.shot()));
  return trace;
}

}  // namespace triodrill
